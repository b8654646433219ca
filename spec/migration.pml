/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One key that moves from server O to server N, and everybody who touches it
 * meanwhile. README.md says what is in here and what is not; check.sh turns
 * the tables into runs.
 *
 * Three abstractions keep this small although every process loops for ever.
 *
 * Values. No command looks at a value, so one write can stand for all: a run
 * picks one write, the *tracked* one, and every other value is OTHER. `age`
 * follows the tracked write: it is ENDED when its client was answered (or
 * died), and DEAD once a write that began after that was acknowledged. A
 * read that begins when the tracked value is DEAD must not return it. That is
 * "never older than an acknowledged write" and "a deleted key never comes
 * back" in one; a violation with any other write is one with this write
 * tracked. For counters the tracked write is one increment, TRACKED means
 * "without it" and OTHER "with it": whoever sees TRACKED after the increment
 * was acknowledged has lost it.
 *
 * Tokens. CAS values never repeat, so a token is one bit: has the item been
 * left alone since? A restart, which resets the counter, is the exception;
 * what the rule about connections prevents is a token that matches by chance,
 * see restart().
 *
 * Watermarks. CAS values grow, so `low` is one bit too: the item on N is one
 * from before the probe.
 *
 * A command to a server is one step. The beginning of an operation coincides
 * with its first command and its answer with the last one: both make the
 * demands on everybody else as strict as they can be.
 */

/* The rows. The path P0, P1, ... is the order in which they come into force;
 * an operation runs under the newest one or the one before it. */
#define STABLE_OLD 0
#define PREPARED 1
#define WARMING 2
#define HANDOVER 3
#define DRAINING 4
#define CLOSING 5
#define SETTLING 6
#define STABLE_NEW 7

c_decl {
    enum { MOST_PHASES = 32 };
    static unsigned char path[MOST_PHASES]; /* phases in the order they come */
    static int last;                        /* index of the last one */
    static const char *words;               /* what check.sh says of the run */
    static int says(const char *word);
    static void read_words(void);
    static int counter, sets, changes, lossless, never_missing;
    static int one_writer, one_filler, no_filler, plain_add;
    static int late_lease, n_then_o, forget_o, unbound, no_watermark, no_sweep;
    static int no_token_rule, leases_on_o, retries;
};

c_code {
    static int says(const char *word)
    {
        const char *found = strstr(words, word);
        return found && (found == words || found[-1] == ' ') &&
               (found[strlen(word)] == ' ' || !found[strlen(word)]);
    }

    /* MODEL is "LETTERS WORD WORD ...": the path, then the options. */
    static void read_words(void)
    {
        static const char letters[] = "SPWHDCTN";
        const char *text = getenv("MODEL");
        if (!text) {
            fprintf(stderr, "MODEL is not set: run this by check.sh\n");
            exit(2);
        }
        for (last = 0; last < MOST_PHASES && *text && *text != ' '; last++)
            path[last] = (unsigned char) (strchr(letters, *text++) - letters);
        last--;
        words = text;
        counter = says("counter");
        sets = says("sets");
        changes = says("changes");
        lossless = says("lossless");
        never_missing = says("never_missing");
        one_writer = says("one_writer");
        one_filler = says("one_filler");
        no_filler = says("no_filler");
        plain_add = says("plain_add");
        late_lease = says("late_lease");
        n_then_o = says("n_then_o");
        forget_o = says("forget_o");
        unbound = says("unbound");
        no_watermark = says("no_watermark");
        no_sweep = says("no_sweep");
        no_token_rule = says("no_token_rule");
        leases_on_o = says("leases_on_o");
        retries = says("retries");
    }
};

/* Who takes part, and what is done wrong on purpose. */
#define COUNTER is_counter
#define SETS c_expr { sets }
#define CHANGES c_expr { changes }
#define LOSSLESS c_expr { lossless }
#define NEVER_MISSING c_expr { never_missing }
#define ONE_WRITER c_expr { one_writer }
#define ONE_FILLER c_expr { one_filler }
#define NO_FILLER c_expr { no_filler }
#define PLAIN_ADD c_expr { plain_add }
#define LATE_LEASE c_expr { late_lease }
#define N_THEN_O is_n_then_o
#define FORGET_O c_expr { forget_o }
#define UNBOUND c_expr { unbound }
#define NO_WATERMARK c_expr { no_watermark }
#define NO_SWEEP c_expr { no_sweep }
#define NO_TOKEN_RULE c_expr { no_token_rule }
#define LEASES_ON_O c_expr { leases_on_o }
#define RETRIES c_expr { retries }

#define PHASE_NOW c_expr { path[now.at] }
#define PHASE_BEFORE c_expr { path[now.at - 1] }
#define PHASE_NEXT c_expr { path[now.at + 1] }

/* Which rows do what. ROWS(a) is a set of phases. */
#define IN(phase, rows) ((rows >> (phase)) & 1)
#define ROW(phase) (1 << phase)
#define SET_ON_O (ROW(STABLE_OLD) | ROW(PREPARED) | ROW(WARMING))
#define SET_ON_N (ROW(DRAINING) | ROW(CLOSING) | ROW(SETTLING) | ROW(STABLE_NEW))
#define ERASE_ON_O (SET_ON_O | ROW(HANDOVER) | ROW(DRAINING) | ROW(CLOSING))
#define ERASE_ON_N (SET_ON_N | ROW(HANDOVER) | ROW(PREPARED) | ROW(WARMING))
#define TWO_SERVERS (ERASE_ON_O & ERASE_ON_N)
#define MODIFY_ON_O SET_ON_O
#define MODIFY_ON_N SET_ON_N
#define READ_ON_O SET_ON_O /* WARMING: a key that is not rolled in */
#define READ_ON_N (ROW(CLOSING) | ROW(SETTLING) | ROW(STABLE_NEW))
#define READ_AND_FILL (ROW(WARMING) | ROW(HANDOVER) | ROW(DRAINING))
#define RETRIED (ROW(PREPARED) | ROW(WARMING) | ROW(HANDOVER))
#define COPIED (READ_AND_FILL | ROW(CLOSING))
#define FILTERED (READ_AND_FILL | ROW(CLOSING) | ROW(SETTLING))

#define O 0
#define N 1

#define ABSENT 0
#define STUB 1
#define TRACKED 2
#define OTHER 3
#define JUNK 4 /* what nobody wrote */
#define IS_VALUE(v) ((v) >= TRACKED)

#define UNBORN 0
#define RUNNING 1
#define ENDED 2
#define DEAD 3

#define VOID 0
#define VALID 1
#define BEFORE_RESTART 2

#define IDLE 0
#define NEWEST 1
#define LAGGING 2

#define CLIENTS 4 /* writers 0 and 1, fillers 2 and 3 */

#ifdef TRACE
#define SAY(...) printf(__VA_ARGS__);
#else
#define SAY(...)
#endif

/* Two of the options, where spin takes no C. */
bit is_counter;
bit is_n_then_o;

byte item[2];         /* what a server holds for the key */
bit low;              /* N's item is at or below the watermark */
byte age;             /* of the tracked write */
bit won;              /* an acknowledged change was based on it */
byte at;              /* index of the newest phase of the path */
byte doing[CLIENTS];  /* IDLE, or under which phase an operation runs */
byte token[CLIENTS];  /* the client's own token, on N */
byte held[CLIENTS];   /* a value between two commands */
byte given[2];        /* a token in the hands of writer i's application, */
bit given_by[2];      /* of this server, */
byte given_for[2];    /* for this value */

/* Nothing more can go wrong once the tracked value is dead and gone. */
#define OVER                                                                    \
    (age == DEAD && item[O] != TRACKED && item[N] != TRACKED &&                 \
     held[0] != TRACKED && held[1] != TRACKED && held[2] != TRACKED &&          \
     held[3] != TRACKED)

/* ---- the servers: every command is part of one atomic step ---------------- */

#define KEEP_OLD(i) token[i] = (token[i] == BEFORE_RESTART -> BEFORE_RESTART : VOID)

inline forget_tokens(server)
{
    if
    :: server == N ->
        KEEP_OLD(0); KEEP_OLD(1); KEEP_OLD(2); KEEP_OLD(3)
    :: else
    fi;
    if
    :: given_by[0] == server -> given[0] = VOID; given_for[0] = 0; given_by[0] = 0
    :: else
    fi;
    if
    :: given_by[1] == server -> given[1] = VOID; given_for[1] = 0; given_by[1] = 0
    :: else
    fi
}

inline store(server, value)
{
    item[server] = value;
    if
    :: server == N -> low = 0
    :: else
    fi;
    forget_tokens(server);
    assert(!NEVER_MISSING || IS_VALUE(item[O]) || IS_VALUE(item[N]));
    SAY("      server#%d = value#%d\n", server, value)
}

/* A command bound to a token: does it match? */
#define MATCHES(t, server)                                                      \
    (t == VALID || (t == BEFORE_RESTART && item[server] != ABSENT))

/* ---- what a client promises ----------------------------------------------- */

inline begin()
{
    if
    :: doing[me] = NEWEST; phase = PHASE_NOW
    :: at > 0 -> doing[me] = LAGGING; phase = PHASE_BEFORE
    fi;
    after = (age == ENDED);
    late = (age == DEAD)
}

/* A reader shows a stub to nobody. */
inline check_read(value)
{
    SAY("      %d: answers value#%d\n", me, value)
    assert(value != JUNK);               /* never an unwritten value */
    assert(!(value == TRACKED && late)); /* never a stale or deleted one */
}

inline end()
{
    doing[me] = IDLE;
    token[me] = VOID;
    held[me] = 0;
    phase = 0; after = 0; late = 0
}

/* The answer to a write; `basis` is the value that it changed, or 0. */
inline acknowledge(basis)
{
    SAY("      %d: acknowledged\n", me)
    assert(basis != JUNK);
    assert(!(basis == TRACKED && late));  /* never on top of a stale value */
    if
    :: basis == TRACKED && !COUNTER -> assert(!won); won = 1 /* one change of each */
    :: else
    fi;
    if
    :: mine && COUNTER -> age = DEAD
    :: mine && !COUNTER -> age = ENDED
    :: after && age == ENDED -> age = DEAD; SAY("      the tracked value is now stale\n")
    :: else
    fi;
    leave()
}

/* No answer, an unknown result or a refusal: nothing is promised. */
inline give_up()
{
    if
    :: mine -> age = (COUNTER -> RUNNING : ENDED) /* an increment is tried again */
    :: else
    fi;
    leave()
}

inline leave()
{
    mine = 0; value = 0; op = 0; tries = 0;
    end()
}

/* ---- writers ---------------------------------------------------------------- */

#define SET 1
#define ERASE 2
#define MODIFY 3 /* append, increment, replace, touch: needs a value */
#define ADD 4    /* add, or the initial value of an increment */
#define GETS 5
#define CAS 6

/* What a change makes of the value in hand: the tracked increment leaves its
 * mark, every other one keeps what is there, and all else writes `value`. */
inline change()
{
    if
    :: COUNTER -> value = (mine -> OTHER : held[me])
    :: else
    fi
}

#define FIRST (N_THEN_O -> N : O)
#define SECOND (N_THEN_O -> O : N)

/* The command of a set or a delete on one server, if the row has one. */
inline write_one(server)
{
    if
    :: server == O && op == SET && IN(phase, SET_ON_O) -> store(O, value)
    :: server == O && !(op == SET && IN(phase, SET_ON_O)) && IN(phase, ERASE_ON_O) -> store(O, ABSENT)
    :: FORGET_O && server == O && !(op == SET && IN(phase, SET_ON_O)) && IN(phase, ERASE_ON_O)
    :: server == N && op == SET && IN(phase, SET_ON_N) -> store(N, value)
    :: server == N && !(op == SET && IN(phase, SET_ON_N)) && IN(phase, ERASE_ON_N) -> store(N, ABSENT)
    :: else
    fi
}

proctype writer(byte me)
{
    byte phase, op, value, tries;
    bit after, late, mine, owed;

    do
    :: atomic { /* PARTIAL: N could not be reached, its delete is sent again */
        owed && !OVER ->
        begin();
        if
        :: IN(phase, RETRIED) -> SAY("writer %d under phase#%d: repeats the delete of N\n", me, phase) store(N, ABSENT)
        :: else
        fi;
        owed = 0;
        end()
       }
    :: atomic {
        !OVER ->
        begin();
        if
        :: !COUNTER && !CHANGES -> op = SET
        :: !COUNTER && !CHANGES -> op = ERASE
        :: !SETS -> op = MODIFY
        :: !SETS && !COUNTER -> op = ADD
        :: !SETS && !COUNTER -> op = CAS
        :: !SETS && !COUNTER && given[me] == VOID -> op = GETS
        fi;
        if
        :: op == SET || op == MODIFY || op == ADD || op == CAS ->
            value = OTHER;
            if
            :: me == 0 && age == UNBORN -> mine = 1; age = RUNNING; value = TRACKED
            :: COUNTER && me == 0 && age == RUNNING -> mine = 1
            :: true
            fi
        :: else
        fi;

        if
        :: op == SET || op == ERASE -> goto writing
        :: op >= MODIFY && IN(phase, MODIFY_ON_O) -> goto modifying_o
        :: op >= MODIFY && IN(phase, MODIFY_ON_N) -> goto look
        :: else -> /* HANDOVER: EXISTS or TRY_AGAIN */ give_up(); goto done
        fi;

writing:
        SAY("writer %d under phase#%d: op#%d\n", me, phase, op)
        if
        :: IN(phase, TWO_SERVERS) -> write_one(FIRST)
        :: else -> write_one(O); write_one(N); acknowledge(0); goto done
        fi
       };
       if
       :: atomic { true -> SAY("writer %d under phase#%d: op#%d, second half\n", me, phase, op)
                   write_one(SECOND); acknowledge(0); goto done }
       :: atomic { true -> SAY("writer %d under phase#%d: dies\n", me, phase) give_up(); goto done }
       fi;

modifying_o: /* on O, one command; then N's copy goes, whatever O said */
       atomic {
        if
        :: op == GETS ->
            SAY("writer %d under phase#%d: gets on O\n", me, phase)
            check_read(item[O]);
            if
            :: IS_VALUE(item[O]) -> given[me] = VALID; given_by[me] = O; given_for[me] = item[O]
            :: else
            fi;
            give_up(); goto done
        :: op == MODIFY ->
            SAY("writer %d under phase#%d: increment or append on O\n", me, phase)
            if
            :: IS_VALUE(item[O]) -> held[me] = item[O]; change(); store(O, value); tries = 1
            :: LEASES_ON_O && item[O] == STUB -> store(O, JUNK); give_up(); goto done
            :: else
            fi
        :: op == ADD ->
            SAY("writer %d under phase#%d: add on O\n", me, phase)
            if
            :: item[O] == ABSENT -> store(O, value); tries = 1
            :: else
            fi
        :: op == CAS ->
            SAY("writer %d under phase#%d: cas on O\n", me, phase)
            if
            :: given_by[me] == O && MATCHES(given[me], O) ->
                held[me] = given_for[me]; store(O, value); tries = 1
            :: !(given_by[me] == O && given[me] == VALID)
            fi;
            given[me] = VOID; given_by[me] = 0; given_for[me] = 0
        fi;
        if
        :: IN(phase, TWO_SERVERS)
        :: !IN(phase, TWO_SERVERS) && tries -> acknowledge(held[me]); goto done
        :: !IN(phase, TWO_SERVERS) && !tries -> give_up(); goto done
        fi
       };
       if
       :: atomic {
            true -> SAY("writer %d under phase#%d: deletes N's copy\n", me, phase) store(N, ABSENT);
            if
            :: tries -> acknowledge(held[me])
            :: else -> give_up()
            fi;
            goto done }
       :: atomic { true -> SAY("writer %d under phase#%d: dies\n", me, phase)
                   owed = RETRIES; give_up(); goto done }
       fi;

look: /* on N: what is there, and its CAS */
       atomic {
        SAY("writer %d under phase#%d: looks at N\n", me, phase)
        if
        :: item[N] == ABSENT && (op == CAS || (op != ADD && phase != DRAINING)) -> goto not_found
        :: item[N] == ABSENT && !(op == CAS || (op != ADD && phase != DRAINING)) -> goto lease
        :: item[N] != ABSENT && low && IN(phase, FILTERED) -> token[me] = VALID; goto remove
        :: item[N] == STUB && !(low && IN(phase, FILTERED)) -> token[me] = VALID; goto remove
        :: IS_VALUE(item[N]) && !(low && IN(phase, FILTERED)) ->
            if
            :: op == ADD -> give_up(); goto done
            :: op == GETS -> goto take
            :: op == MODIFY -> token[me] = VALID; held[me] = item[N]; goto erase_o
            :: op == CAS && given_by[me] == N && given[me] != VOID -> goto erase_o
            :: op == CAS && !(given_by[me] == N && given[me] == VALID) ->
                given[me] = VOID; given_by[me] = 0; given_for[me] = 0;
                give_up(); goto done
            fi
        fi
       };

remove: /* a ghost, or a stub that was there too long: md C */
       if
       :: atomic {
            true -> SAY("writer %d under phase#%d: removes a ghost or a stub\n", me, phase)
            if
            :: MATCHES(token[me], N) -> store(N, ABSENT)
            :: token[me] != VALID
            fi;
            token[me] = VOID; goto look }
       :: atomic { true -> SAY("writer %d under phase#%d: gives up\n", me, phase) give_up(); goto done }
       fi;

lease:
       atomic {
        SAY("writer %d under phase#%d: asks for the lease\n", me, phase)
        if
        :: item[N] == ABSENT ->
            store(N, STUB); token[me] = VALID;
            if
            :: phase == DRAINING
            :: phase != DRAINING -> goto erase_o
            fi
        :: else -> goto look
        fi
       };
       if
       :: atomic {
            true -> SAY("writer %d under phase#%d: reads O to promote\n", me, phase)
            if
            :: IS_VALUE(item[O]) -> held[me] = item[O]
            :: !IS_VALUE(item[O]) && op == ADD -> goto erase_o
            :: !IS_VALUE(item[O]) && op != ADD -> goto drop
            fi }
       :: atomic { true -> SAY("writer %d under phase#%d: dies with the lease\n", me, phase) give_up(); goto done }
       fi;
       atomic {
        SAY("writer %d under phase#%d: promotes\n", me, phase)
        if
        :: MATCHES(token[me], N) ->
            store(N, held[me]);
            token[me] = VALID
        :: token[me] != VALID -> token[me] = VOID; held[me] = 0; goto look
        fi;
        if
        :: op == ADD -> give_up(); goto done
        :: op == GETS -> goto take
        :: op == MODIFY -> goto erase_o
        fi
       };

take: /* the reply that brought the value brought its CAS too */
       atomic {
        if
        :: IS_VALUE(item[N]) ->
            SAY("writer %d under phase#%d: gets on N\n", me, phase)
            check_read(item[N]);
            given[me] = VALID; given_by[me] = N; given_for[me] = item[N]
        :: else
        fi;
        give_up(); goto done
       };

drop: /* neither server has the key */
       atomic {
        SAY("writer %d under phase#%d: drops the lease\n", me, phase)
        if
        :: MATCHES(token[me], N) -> store(N, ABSENT); goto not_found
        :: token[me] != VALID -> token[me] = VOID; goto look
        fi
       };

not_found:
       atomic {
        SAY("writer %d under phase#%d: not found\n", me, phase)
        assert(!NEVER_MISSING);
        give_up(); goto done
       };

erase_o:
       if
       :: atomic {
            (phase == SETTLING || phase == STABLE_NEW) -> skip }
       :: atomic {
            !(phase == SETTLING || phase == STABLE_NEW) ->
            SAY("writer %d under phase#%d: deletes O's copy\n", me, phase) store(O, ABSENT) }
       :: atomic { true -> SAY("writer %d under phase#%d: dies\n", me, phase) give_up(); goto done }
       fi;
       if
       :: atomic {
            if
            :: op == CAS ->
                SAY("writer %d under phase#%d: cas on N\n", me, phase)
                if
                :: MATCHES(given[me], N) -> held[me] = given_for[me]; tries = 1
                :: given[me] != VALID
                fi
            :: else ->
                SAY("writer %d under phase#%d: changes N under its CAS\n", me, phase)
                if
                :: MATCHES(token[me], N) -> tries = 1
                :: UNBOUND && op == MODIFY && token[me] != VALID && item[N] != ABSENT ->
                    store(N, (item[N] == STUB -> JUNK : value)); give_up(); goto done
                   /* append without C: to whatever is there, a stub included */
                :: token[me] != VALID -> token[me] = VOID; held[me] = 0; goto look
                fi
            fi;
            given[me] = VOID; given_by[me] = 0; given_for[me] = 0;
            if
            :: tries -> change(); store(N, value); acknowledge(held[me])
            :: else -> give_up()
            fi;
            goto done }
       :: atomic { true -> SAY("writer %d under phase#%d: dies\n", me, phase) give_up(); goto done }
       fi;

done:  skip
    od
}

/* ---- readers ------------------------------------------------------------------ */

/* A read that asks one server is one step. */
proctype reader(byte me)
{
    byte phase;
    bit late;

    do
    :: atomic {
        !OVER && age == DEAD ->
        late = 1;
        if
        :: phase = PHASE_NOW
        :: at > 0 -> phase = PHASE_BEFORE
        fi;
        if
        :: IN(phase, READ_ON_O) -> SAY("reader %d under phase#%d: asks O\n", me, phase) check_read(item[O])
        :: IN(phase, READ_ON_N) && !(low && IN(phase, FILTERED)) ->
            SAY("reader %d under phase#%d: asks N\n", me, phase) check_read(item[N])
        :: IN(phase, READ_ON_N) && low && IN(phase, FILTERED)
        :: IN(phase, READ_AND_FILL)
        fi;
        phase = 0; late = 0
       }
    od
}

/* N, then O with a fill. */
proctype filler(byte me)
{
    byte phase;
    bit after, late;

    do
    :: atomic {
        !OVER ->
        begin();
        if
        :: IN(phase, READ_AND_FILL)
        :: else -> end(); goto done
        fi;
        if
        :: true -> SAY("filler %d under phase#%d: cannot reach N\n", me, phase) goto ask_o
        :: item[N] == STUB && !low -> SAY("filler %d under phase#%d: finds a stub on N\n", me, phase) goto ask_o
        :: item[N] == ABSENT -> SAY("filler %d under phase#%d: misses N\n", me, phase) skip
        :: item[N] != ABSENT && low -> SAY("filler %d under phase#%d: finds a ghost on N\n", me, phase) token[me] = VALID; goto remove
        :: IS_VALUE(item[N]) && !low -> SAY("filler %d under phase#%d: hits N\n", me, phase) check_read(item[N]); end(); goto done
        fi
       };
lease:
       atomic {
        if
        :: PLAIN_ADD || LATE_LEASE -> goto copy
        :: else
        fi;
        if
        :: item[N] == ABSENT -> SAY("filler %d under phase#%d: takes the lease\n", me, phase) store(N, STUB); token[me] = VALID
        :: item[N] != ABSENT -> SAY("filler %d under phase#%d: is refused the lease\n", me, phase) goto ask_o
        fi
       };
copy:
       if
       :: atomic {
            held[me] = item[O];
            SAY("filler %d under phase#%d: reads O\n", me, phase)
            if
            :: IS_VALUE(held[me]) && LATE_LEASE -> goto late_lease
            :: IS_VALUE(held[me]) && !LATE_LEASE
            :: else -> goto drop
            fi }
       :: atomic { true -> SAY("filler %d under phase#%d: dies with the lease\n", me, phase) end(); goto done }
       fi;
fill:
       if
       :: atomic {
            true -> SAY("filler %d under phase#%d: fills N\n", me, phase)
            if
            :: PLAIN_ADD && item[N] == ABSENT -> store(N, held[me])
            :: !PLAIN_ADD && MATCHES(token[me], N) -> store(N, held[me])
            :: token[me] != VALID
            fi;
            check_read(held[me]); end(); goto done }
       :: atomic { true -> SAY("filler %d under phase#%d: dies before the fill\n", me, phase) end(); goto done }
       fi;
drop:
       atomic {
        if
        :: MATCHES(token[me], N) -> SAY("filler %d under phase#%d: drops the lease\n", me, phase) store(N, ABSENT)
        :: token[me] != VALID
        fi;
        end(); goto done
       };
remove:
       atomic {
        if
        :: MATCHES(token[me], N) -> SAY("filler %d under phase#%d: removes the ghost\n", me, phase) store(N, ABSENT)
        :: token[me] != VALID
        fi;
        token[me] = VOID; goto lease
       };
late_lease: /* the wrong order */
       atomic { item[N] == ABSENT -> store(N, STUB); token[me] = VALID; goto fill };
ask_o:
       atomic {
        SAY("filler %d under phase#%d: reads O, no fill\n", me, phase) check_read(item[O]);
        end()
       };
done:  skip
    od
}

/* ---- the world ------------------------------------------------------------------ */

/* A restart loses the contents and resets the CAS counter. The client that
 * holds a token from before it finds its connection closed, and the rule says
 * to drop the command. Without the rule the command goes out on a fresh
 * connection, and by chance the token is that of another item. */
inline restart(server)
{
    store(server, ABSENT);
    i = 0;
    do
    :: i < CLIENTS && server == N && doing[i] != IDLE -> token[i] = BEFORE_RESTART; i++
    :: i < CLIENTS && !(server == N && doing[i] != IDLE) -> i++
    :: i == CLIENTS -> break
    od;
    i = 0
}

proctype world()
{
    byte i;
    do
    :: atomic { item[N] == STUB && !OVER -> SAY("the stub expires\n") store(N, ABSENT) }
    :: atomic { !LOSSLESS && item[O] != ABSENT && !OVER -> SAY("O evicts the key\n") store(O, ABSENT) }
    :: atomic { !LOSSLESS && item[N] != ABSENT && !OVER -> SAY("N evicts the key\n") store(N, ABSENT) }
    :: atomic { LEASES_ON_O && item[O] == ABSENT && IN(PHASE_NOW, READ_ON_O) ->
                SAY("an application takes a lease on O\n") store(O, STUB) }
    :: atomic { item[O] == STUB -> SAY("the lease on O expires\n") store(O, ABSENT) }
    :: atomic { NO_TOKEN_RULE && !OVER -> SAY("N restarts\n") restart(N) }
    od
}

/* The next phase comes into force once nothing runs under the one before the
 * newest: holds, and what apply() waits for. */
inline next_phase()
{
    if
    :: !NO_WATERMARK && PHASE_NOW == STABLE_OLD && PHASE_NEXT == PREPARED -> low = (item[N] != ABSENT)
    :: !NO_SWEEP && PHASE_NOW == SETTLING && PHASE_NEXT == STABLE_NEW && low -> store(N, ABSENT)
    :: else
    fi;
    i = 0;
    do
    :: i < CLIENTS && doing[i] == NEWEST -> doing[i] = LAGGING; i++
    :: i < CLIENTS && doing[i] != NEWEST -> i++
    :: i == CLIENTS -> break
    od;
    i = 0;
    at++;
    SAY("phase#%d comes into force\n", PHASE_NOW)
}

proctype operator()
{
    byte i;
    do
    :: atomic {
        c_expr { now.at < last } && !OVER && doing[0] != LAGGING && doing[1] != LAGGING &&
        doing[2] != LAGGING && doing[3] != LAGGING -> next_phase()
       }
    od
}

init {
    atomic {
        c_code { read_words(); now.is_counter = counter; now.is_n_then_o = n_then_o; };
        if
        :: COUNTER -> item[O] = TRACKED /* so the path begins where O has the authority */
        :: !COUNTER
        :: !COUNTER -> item[O] = TRACKED; age = ENDED
        :: !COUNTER && IN(PHASE_NOW, COPIED) -> /* filled before */
            item[O] = TRACKED; item[N] = TRACKED; age = ENDED
        :: !COUNTER -> item[N] = TRACKED; age = DEAD; /* a ghost of an earlier ring, */
            low = (PHASE_NOW != STABLE_OLD)           /* found by the probe */
        fi;
        run writer(0);
        if
        :: !ONE_WRITER -> run writer(1)
        :: else
        fi;
        if
        :: !NO_FILLER -> run filler(2)
        :: else
        fi;
        if
        :: !NO_FILLER && !ONE_FILLER -> run filler(3)
        :: else
        fi;
        run reader(4);
        run world();
        run operator()
    }
}
