# SPDX-License-Identifier: Apache-2.0
# Draws samples of runs side by side as an SVG: reads per second by who answered
# them, with the phases. Those of bench/migration -o FILE, the warm migration
# beside the cold flip,
#
#   make plot
#
# and those of tests/fleet/fleet.t, FLEET_SAMPLES=FILE, and of bench/fleet-sim
# -o FILE, by other variables:
#
#   make plot-fleet
#   make plot-sim
#
#   runs      names of the runs, with | between them; title of each in `titles`
#   series    names of the columns
#   unit      what is said of them, if not that they are per second
#   bottom    where their axis begins, and a step of where it may end, `step`
#   maker     what makes the picture
#   width     of each, in pixels
#   tick      seconds between the marks of an axis

BEGIN {
    FS = "\t"
    if (runs == "") { runs = "warm|cold"; titles = "warm migration|cold flip of the same rings" }
    if (maker == "") maker = "make plot"
    if (width == 0) width = 470
    if (tick == 0) tick = 5
    if (step == 0) step = 4000
    if (series == "") { series = "hits_old hits_new origin_loads"; unit = ", per second" }
    panels = split(runs, run_of, "|")
    split(titles == "" ? runs : titles, heading, "|")
    height = 250; left = 56; top = 96; gap = 60
    count = split(series, name, " ")
    color["hits_old"] = "#4477aa"; label["hits_old"] = "hits on the old owner, and of keys that do not move"
    color["hits_new"] = "#228833"; label["hits_new"] = "hits on the new owner"
    color["origin_loads"] = "#cc3311"; label["origin_loads"] = "loads from the origin of keys that the cache had lost"
    color["hit_rate"] = "#4477aa"; label["hit_rate"] = "reads that the cache answered"
    color["old_mean"] = "#4477aa"; label["old_mean"] = "the mean server of those there before"
    color["new_mean"] = "#228833"; label["new_mean"] = "the mean server that is added"
}

NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }

{
    run = $column["run"]
    n = ++samples[run]
    end[run, n] = $column["seconds"]
    length_of[run, n] = $column["length"]
    if ($column["phase"] == "STABLE")
        place[run, n] = $column["hits_new"] > $column["hits_old"] ? "new ring" : "old ring"
    else if ($column["phase"] == "WARMING")
        place[run, n] = "WARMING " $column["rollout"]
    else
        place[run, n] = $column["phase"]
    for (i = 1; i <= count; i++) {
        value = $column[name[i]] / $column["length"]
        rate[run, n, name[i]] = value
        if ($column["length"] > 0.2 && value > highest) highest = value
    }
    if ($column["seconds"] > longest) longest = $column["seconds"]
}

function x(seconds) { return offset + seconds / longest * width }
function y(value) {
    value = value > scale ? scale : value < bottom ? bottom : value
    return top + height - (value - bottom) / (scale - bottom) * height
}

# The places of a run as vertical bands with their names.
function bands(run,    n, from, odd) {
    from = 0
    for (n = 1; n <= samples[run]; n++) {
        if (n < samples[run] && place[run, n + 1] == place[run, n]) continue
        if (odd = !odd)
            printf "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#f2f2f2\"/>\n", \
                x(from), top, x(end[run, n]) - x(from), height
        printf "<text transform=\"translate(%.1f,%d) rotate(-45)\">%s</text>\n", \
            (x(from) + x(end[run, n])) / 2, top - 6, place[run, n]
        from = end[run, n]
    }
}

function axes(    i, value) {
    for (value = bottom + 0; value <= scale; value += (scale - bottom) / 4) {
        printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#d8d8d8\"/>\n", \
            x(0), x(longest), y(value), y(value)
        printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n", x(0) - 6, y(value) + 4, value
    }
    for (i = 0; i <= longest; i += tick)
        printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d s</text>\n", x(i), top + height + 18, i
}

function lines(run,    i, n) {
    for (i = 1; i <= count; i++) {
        printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", color[name[i]]
        for (n = 1; n <= samples[run]; n++)
            printf "%.1f,%.1f ", x(end[run, n] - length_of[run, n] / 2), y(rate[run, n, name[i]])
        print "\"/>"
    }
}

function panel(run, title) {
    printf "<text x=\"%.1f\" y=\"14\" font-size=\"15\" font-weight=\"bold\">%s</text>\n", x(0), title
    bands(run)
    axes()
    lines(run)
}

END {
    total = left + panels * width + (panels - 1) * gap + left - 20
    scale = step
    while (scale < highest) scale += step
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" ", \
        total, top + height + 100, total, top + height + 100
    print "font-family=\"sans-serif\" font-size=\"11\" fill=\"#222222\">"
    print "<!-- SPDX-License-Identifier: Apache-2.0; made by: " maker " -->"
    print "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"
    for (i = 1; i <= panels; i++) {
        offset = left + (i - 1) * (width + gap)
        panel(run_of[i], heading[i])
    }
    for (i = 1; i <= count; i++)
        printf "<rect x=\"%d\" y=\"%d\" width=\"18\" height=\"4\" fill=\"%s\"/><text x=\"%d\" y=\"%d\" font-size=\"12\">%s%s</text>\n", \
            left, top + height + 36 + 18 * i, color[name[i]], left + 26, top + height + 42 + 18 * i, label[name[i]], unit
    print "</svg>"
}
