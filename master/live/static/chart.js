// The charts: the evaluation of both sides and the time of each move on one axis; small lines of a quantity.

import { MATE_BOUND, countText, say, svg } from "./words.js";

const LEFT = 54, RIGHT = 12;

// Centipawns to 0 … 1 for black; 600 is the field's usual scale.
export function winRate(score) {
  if (score === null || score === undefined) return null;
  if (Math.abs(score) >= MATE_BOUND) return score > 0 ? 1 : 0;
  return 1 / (1 + Math.exp(-score / 600));
}

// points: [{ply, own, other, ms, colour}] of the plies 1 …; ply: the one that is shown. go(ply) when clicked.
export function graph(points, { first, last, ply, unit, width, names, mine, go }) {
  const height = 230, top = 10, mid = 84, low = height - 22, barTop = 178, half = 74;
  const end = Math.max(last, first + 20, ...points.map((point) => point.ply));
  const x = (at) => LEFT + ((at - first) / (end - first)) * (width - LEFT - RIGHT);
  const level = (score) => {
    if (unit === "win") return winRate(score) * 2 - 1;
    return Math.abs(score) >= MATE_BOUND ? Math.sign(score) : Math.max(-1, Math.min(1, score / 2000));
  };
  const y = (score) => mid - level(score) * half;
  const root = svg("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": say("evaluation by move") });
  root.append(svg("rect", { class: "ground", x: LEFT, y: top, width: width - LEFT - RIGHT, height: 2 * half, rx: 3 }));
  const marks = unit === "win" ? ["☗ 100%", "75%", "50%", "75%", "☖ 100%"] : ["☗ 2000", "1000", "0", "1000", "☖ 2000"];
  marks.forEach((text, index) => {
    const at = top + (index * half) / 2;
    root.append(svg("line", { class: index === 2 ? "rule zero" : "rule", x1: LEFT, x2: width - RIGHT, y1: at, y2: at }));
    root.append(svg("text", { x: LEFT - 6, y: at + 4, "text-anchor": "end" }, text));
  });
  for (const [series, name] of [["other", "theirs"], ["own", "ours"]]) {
    const spots = points.filter((point) => point[series] !== null && point[series] !== undefined);
    if (!spots.length) continue;
    const path = spots.map((spot, index) => `${index ? "L" : "M"}${x(spot.ply).toFixed(1)} ${y(spot[series]).toFixed(1)}`).join(" ");
    if (series === "own") {
      const area = `${path} L${x(spots.at(-1).ply).toFixed(1)} ${mid} L${x(spots[0].ply).toFixed(1)} ${mid} Z`;
      root.append(svg("path", { class: "area", d: area }));
    }
    root.append(svg("path", { class: "curve " + name, d: path, "data-points": spots.length }));
    for (const spot of spots) root.append(svg("circle", { class: "dot " + name, cx: x(spot.ply), cy: y(spot[series]), r: points.length > 120 ? 1.6 : 2.6 }));
  }
  const longest = Math.max(1, ...points.map((point) => point.ms || 0));
  const bar = Math.max(1.5, Math.min(10, ((width - LEFT - RIGHT) / (end - first)) * 0.7));
  for (const point of points) {
    const size = ((point.ms || 0) / longest) * (low - barTop);
    root.append(svg("rect", { class: point.colour ? "tbar white" : "tbar black", x: x(point.ply) - bar / 2, y: low - size, width: bar, height: Math.max(0.6, size) }));
  }
  root.append(svg("text", { x: LEFT - 6, y: low - 2, "text-anchor": "end" }, say("time")));
  const step = [5, 10, 20, 50, 100].find((size) => ((end - first) / size) * 44 < width - LEFT) || 200;
  for (let at = Math.ceil(first / step) * step; at <= end; at += step) root.append(svg("text", { x: x(at), y: height - 6, "text-anchor": "middle" }, String(at)));
  root.append(svg("line", { class: "cursor", x1: x(ply), x2: x(ply), y1: top, y2: low }));
  const pick = (event) => {
    const box = root.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * width;
    return Math.max(first, Math.min(last, Math.round(first + ((at - LEFT) / (width - LEFT - RIGHT)) * (end - first))));
  };
  root.addEventListener("click", (event) => go(pick(event)));
  return root;
}

export function spark(values, width = 220, height = 40) {
  const root = svg("svg", { class: "spark", preserveAspectRatio: "none", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": say("nodes/s of all, by search") });
  if (values.length < 2) return root;
  const most = Math.max(...values), x = (index) => 2 + (index / (values.length - 1)) * (width - 4), y = (value) => height - 3 - (value / (most || 1)) * (height - 8);
  const path = values.map((value, index) => `${index ? "L" : "M"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`).join(" ");
  root.append(svg("path", { class: "area", d: `${path} L${width - 2} ${height} L2 ${height} Z` }), svg("path", { class: "curve ours", d: path }));
  root.append(svg("title", {}, countText(values.at(-1)) + "/s"));
  return root;
}
