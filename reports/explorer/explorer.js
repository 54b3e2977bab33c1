/* Draws the charts of the interactive page from the data in it. An arm is singled out in all charts at once. */
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const charts = ["parallel", "slices", "curves"];
const SERIES = 8, PALE = 0.1, AXIS_WIDTH = 125, PANEL_WIDTH = 300;
const metrics = data.axes.filter((axis) => axis.metric);
const across = data.axes.filter((axis) => !axis.metric || axis.headline);
const varied = data.axes.filter((axis) => axis.varied);
let chosen = new Set(); // positions of the arms that are singled out; empty: all
let drawing = false; // a redrawing clears its box and reports an empty selection

const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const cut = (text, letters) => (text.length > letters ? `${text.slice(0, letters - 1)}…` : text);

function mixed(first, second, share) {
  const parts = [1, 3, 5].map((at) => {
    const [a, b] = [first, second].map((colour) => parseInt(colour.slice(at, at + 2), 16));
    return Math.round(a + (b - a) * share).toString(16).padStart(2, "0");
  });
  return `#${parts.join("")}`;
}

/* Few arms have the report's colours; many are coloured from the best (blue) to the worst (orange) first metric. */
function colours() {
  const text = variable("--text"), quiet = variable("--quiet");
  const series = [text, ...Array.from({ length: SERIES - 1 }, (_, at) => variable(`--series-${at + 1}`))];
  if (data.arms.length <= SERIES || !metrics.length) return data.arms.map((_, arm) => series[arm % SERIES]);
  const { positions, lower_is_better: lower } = metrics[0];
  return positions.map((at, arm) =>
    arm === 0 ? text : at === null ? quiet : mixed(series[1], series[2], lower ? at : 1 - at));
}

function layout(more) {
  const axis = { color: variable("--quiet"), gridcolor: variable("--line"), zeroline: false, linecolor: variable("--line") };
  const page = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, hovermode: "closest",
    font: { color: variable("--text"), size: 12, family: "system-ui, sans-serif" },
    hoverlabel: { bgcolor: variable("--shade"), bordercolor: variable("--quiet"), font: { color: variable("--text") }, align: "left", namelength: -1 },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: variable("--quiet"), activecolor: variable("--text") },
    margin: { l: 60, r: 30, t: 30, b: 45 },
  };
  for (const name of Object.keys(more).filter((name) => /^[xy]axis/.test(name))) more[name] = { ...axis, ...more[name] };
  return { ...page, ...more };
}

const shown = (arm) => !chosen.size || chosen.has(arm);
const ofArm = (arm) => `<b>${escaped(data.arms[arm])}</b> (${escaped(data.standings[arm])})`;

function parallel(colour) {
  const width = Math.max(document.querySelector(".scroll").clientWidth, AXIS_WIDTH * across.length);
  const traces = data.arms.map((_, arm) => ({
    type: "scatter", mode: "lines+markers", meta: arm, connectgaps: false,
    x: across.map((_, at) => at), y: across.map((axis) => axis.positions[arm]),
    text: across.map((axis) => `${ofArm(arm)}<br>${escaped(axis.title)}: ${escaped(axis.texts[arm])}`),
    hovertemplate: "%{text}<extra></extra>", opacity: shown(arm) ? 1 : PALE,
    line: { color: colour[arm], width: arm === 0 ? 3 : 1.6 }, marker: { color: colour[arm], size: 6 },
  }));
  const shapes = across.map((_, at) => ({
    type: "line", x0: at, x1: at, y0: 0, y1: 1, layer: "below", line: { color: variable("--line"), width: 1.5 } }));
  const ticks = across.flatMap((axis, at) => axis.ticks.map(([y, label]) => ({
    x: at, y, text: escaped(cut(label, 14)), showarrow: false, xanchor: "left", xshift: 5,
    font: { size: 11, color: variable("--quiet") }, bgcolor: variable("--ground"), opacity: 0.85 })));
  const titles = across.map((axis, at) => ({
    x: at, y: 1, yshift: at % 2 ? 38 : 20, text: `<b>${escaped(cut(axis.title, 32))}</b>`, showarrow: false, xanchor: at ? "center" : "left" }));
  return [traces, layout({
    width, height: 460, dragmode: "select", shapes, annotations: [...ticks, ...titles], margin: { l: 30, r: 80, t: 65, b: 20 },
    xaxis: { visible: false, range: [-0.1, across.length - 0.8], fixedrange: true },
    yaxis: { visible: false, range: [-0.06, 1.06], fixedrange: true } })];
}

function slices(colour) {
  const metric = metrics[document.getElementById("metric").selectedIndex];
  if (!metric || !varied.length) return null;
  const room = document.getElementById("slices").clientWidth;
  const columns = Math.max(1, Math.min(varied.length, Math.floor(room / PANEL_WIDTH)));
  const rows = Math.ceil(varied.length / columns), more = {};
  const arms = data.arms.map((_, arm) => arm).filter((arm) => metric.values[arm] !== null);
  const traces = varied.map((axis, at) => {
    const suffix = at ? at + 1 : "";
    more[`xaxis${suffix}`] = {
      title: { text: escaped(axis.title) }, tickvals: axis.ticks.map(([place]) => place),
      ticktext: axis.ticks.map(([, label]) => escaped(cut(label, 12))), range: [-0.12, 1.12], fixedrange: true };
    more[`yaxis${suffix}`] = { title: { text: at % columns ? "" : escaped(metric.title) } };
    return {
      type: "scatter", mode: "markers", xaxis: `x${suffix}`, yaxis: `y${suffix}`, meta: arms,
      x: arms.map((arm) => axis.positions[arm]), y: arms.map((arm) => metric.values[arm]),
      text: arms.map((arm) => `${ofArm(arm)}<br>${escaped(axis.title)}: ${escaped(axis.texts[arm])}` +
        `<br>${escaped(metric.title)}: ${escaped(metric.texts[arm])}`),
      hovertemplate: "%{text}<extra></extra>",
      marker: { size: 9, color: arms.map((arm) => colour[arm]), opacity: arms.map((arm) => (shown(arm) ? 0.9 : PALE)) },
    };
  });
  return [traces, layout({ height: 300 * rows, grid: { rows, columns, pattern: "independent", ygap: 0.35 }, ...more })];
}

function curves(colour) {
  if (!data.curves.length) return null;
  const traces = data.curves.map((line) => {
    const arm = data.arms.indexOf(line.arm);
    const range = (at) => (line.n > 1 ? `, ${line.low[at].toFixed(4)} to ${line.high[at].toFixed(4)} over ${line.n} seeds` : ", one seed");
    return {
      type: "scatter", mode: "lines+markers", meta: arm, x: line.tokens, y: line.mean, opacity: shown(arm) ? 1 : PALE,
      text: line.mean.map((loss, at) => `${ofArm(arm)}<br>${line.tokens[at].toLocaleString("en")} tokens<br>` +
        `held-out loss ${loss.toFixed(4)}${range(at)}` +
        (line.stopped_at === null ? "" : `<br>stopped by hurdle ${line.stopped_at}`)),
      hovertemplate: "%{text}<extra></extra>", line: { color: colour[arm], width: arm === 0 ? 3 : 1.6 }, marker: { color: colour[arm], size: 5 },
    };
  });
  return [traces, layout({ height: 480, xaxis: { title: { text: "tokens seen" } }, yaxis: { title: { text: "held-out loss (nats)" } } })];
}

function draw() {
  drawing = true;
  const colour = colours(), builders = { parallel, slices, curves };
  for (const name of charts) {
    const built = builders[name](colour), place = document.getElementById(name);
    place.closest("section").hidden = !built;
    if (built) Plotly.react(place, ...built, { responsive: name !== "parallel", displaylogo: false, modeBarButtonsToRemove: ["lasso2d"] });
  }
  document.querySelectorAll("#arms button").forEach((button, arm) => {
    button.setAttribute("aria-pressed", String(shown(arm)));
    button.querySelector("i").style.background = colour[arm];
  });
  drawing = false;
}

function single(arm) {
  chosen.has(arm) ? chosen.delete(arm) : chosen.add(arm);
  draw();
}

function armOf(point) {
  const { meta } = point.data;
  return Array.isArray(meta) ? meta[point.pointIndex] : meta;
}

function begin() {
  data.arms.forEach((name, arm) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.append(document.createElement("i"), name);
    button.addEventListener("click", () => single(arm));
    item.append(button);
    document.getElementById("arms").append(item);
  });
  metrics.forEach((axis) => document.getElementById("metric").append(new Option(axis.title)));
  document.getElementById("metric").addEventListener("change", draw);
  document.getElementById("all").addEventListener("click", () => { chosen = new Set(); draw(); });
  draw();
  for (const name of charts) {
    const place = document.getElementById(name);
    if (!place.on) continue; // no such chart
    place.on("plotly_click", (event) => single(armOf(event.points[0])));
    place.on("plotly_doubleclick", () => { chosen = new Set(); draw(); });
    place.on("plotly_selected", (event) => { if (event && !drawing) { chosen = new Set(event.points.map(armOf)); draw(); } });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("resize", draw);
}

begin();
