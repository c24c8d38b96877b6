"use strict";
// The charts: score by ply, and the time of each move below it, on one axis.

const PAD = { left: 44, right: 12 };

function plyScale(first, last, width) {
  const span = Math.max(1, last - first);
  return {
    x: (ply) => PAD.left + ((ply - first) / span) * (width - PAD.left - PAD.right),
    ply: (x) => Math.max(first, Math.min(last, Math.round(first + ((x - PAD.left) / (width - PAD.left - PAD.right)) * span))),
  };
}

// Wires hover and click of a chart: tell(ply or null), go(ply).
function listen(root, scale, tell, go) {
  const at = (event) => scale.ply(event.clientX - root.getBoundingClientRect().left);
  root.addEventListener("pointermove", (event) => tell(at(event)));
  root.addEventListener("pointerleave", () => tell(null));
  root.addEventListener("click", (event) => go(at(event)));
}

function plyTicks(first, last, scale, y) {
  const span = last - first, step = [5, 10, 20, 50, 100].find((size) => span / size <= 16) || 200;
  const texts = [];
  for (let ply = Math.ceil(first / step) * step; ply <= last; ply += step) {
    texts.push(svg("text", { x: scale.x(ply), y, "text-anchor": "middle" }, String(ply)));
  }
  return texts;
}

const CP_SPAN = 2000;

// data.positions[i] is ply first + i; unit "win" or "cp".
function scoreChart(data, unit, width, selected) {
  const height = 230, top = 10, bottom = 22, mid = (top + height - bottom) / 2, half = mid - top;
  const first = data.first, last = first + data.positions.length - 1;
  const scale = plyScale(first, last, width);
  const level = (position) => {
    if (position.win === null) return null;
    if (unit === "win") return position.win * 2 - 1;
    if (position.mate !== null) return position.win > 0.5 ? 1 : -1;
    return Math.max(-1, Math.min(1, position.cp / CP_SPAN));
  };
  const y = (value) => mid - value * half;
  const root = svg("svg", { height, viewBox: `0 0 ${width} ${height}`, class: "score", role: "img", "aria-label": say("score by move") });
  root.append(svg("rect", { x: PAD.left, y: top, width: width - PAD.left - PAD.right, height: 2 * half, fill: "var(--hover)" }));
  const texts = unit === "win" ? ["☗ 100%", "75%", "50%", "75%", "☖ 100%"] : [`☗ ${CP_SPAN}`, "1000", "0", "1000", `☖ ${CP_SPAN}`];
  texts.forEach((text, index) => {
    const line = top + (index * half) / 2;
    root.append(svg("line", { x1: PAD.left, x2: width - PAD.right, y1: line, y2: line, stroke: index === 2 ? "var(--soft)" : "var(--line)", "stroke-width": 1 }));
    root.append(svg("text", { x: PAD.left - 5, y: line + 4, "text-anchor": "end" }, text));
  });
  const spots = data.positions.map((position, index) => [scale.x(first + index), level(position)]).filter((spot) => spot[1] !== null);
  if (spots.length) {
    const path = spots.map(([px, value], index) => `${index ? "L" : "M"}${px.toFixed(1)} ${y(value).toFixed(1)}`).join(" ");
    const area = `${path} L${spots[spots.length - 1][0].toFixed(1)} ${mid} L${spots[0][0].toFixed(1)} ${mid} Z`;
    for (const [id, clipY, fill] of [["above", top, "var(--black-side)"], ["below", mid, "var(--white-side)"]]) {
      root.append(svg("clipPath", { id: `clip-${id}` }, svg("rect", { x: 0, y: clipY, width, height: half })));
      root.append(svg("path", { d: area, fill, "clip-path": `url(#clip-${id})`, stroke: id === "below" ? "var(--mid)" : "none", "stroke-width": 0.5, opacity: 0.85 }));
    }
    root.append(svg("path", { d: path, fill: "none", stroke: "var(--accent)", "stroke-width": 2, "stroke-linejoin": "round" }));
  }
  for (const move of data.moves) {
    if (!isBad(move)) continue;
    const value = level(data.positions[move.n - first]);
    if (value === null) continue;
    root.append(svg("circle", { cx: scale.x(move.n), cy: y(value), r: move.quality === "inaccuracy" ? 3 : 4.5, fill: `var(--${move.quality})`, stroke: "var(--card)", "stroke-width": 1.2 }));
  }
  root.append(...plyTicks(first, last, scale, height - 6));
  root.append(svg("line", { class: "cursor", x1: scale.x(selected), x2: scale.x(selected), y1: top, y2: height - bottom, stroke: "var(--last)", "stroke-width": 2 }));
  return { root, scale };
}

function isBad(move) {
  return ["inaccuracy", "dubious", "mistake", "blunder"].includes(move.quality);
}

// Seconds of each move: black's upwards, white's downwards. null if the record has no times.
function timeChart(data, width, selected) {
  const longest = Math.max(...data.moves.map((move) => move.ms || 0));
  if (!(longest > 0)) return null;
  const height = 110, top = 6, bottom = 6, mid = height / 2, half = mid - top;
  const first = data.first, last = first + data.positions.length - 1;
  const scale = plyScale(first, last, width);
  const root = svg("svg", { height, viewBox: `0 0 ${width} ${height}`, class: "time", role: "img", "aria-label": say("time by move") });
  const bar = Math.max(1.5, Math.min(14, ((width - PAD.left - PAD.right) / data.moves.length) * 0.8));
  const label = seconds(longest);
  root.append(svg("text", { x: PAD.left - 5, y: top + 9, "text-anchor": "end" }, label));
  root.append(svg("text", { x: PAD.left - 5, y: height - bottom, "text-anchor": "end" }, label));
  for (const move of data.moves) {
    const size = ((move.ms || 0) / longest) * half;
    root.append(svg("rect", { x: scale.x(move.n) - bar / 2, y: move.turn ? mid : mid - size, width: bar, height: size, fill: move.turn ? "var(--white-side)" : "var(--black-side)", stroke: "var(--mid)", "stroke-width": 0.5 }));
  }
  root.append(svg("line", { x1: PAD.left, x2: width - PAD.right, y1: mid, y2: mid, stroke: "var(--soft)", "stroke-width": 1 }));
  root.append(svg("line", { class: "cursor", x1: scale.x(selected), x2: scale.x(selected), y1: top, y2: height - bottom, stroke: "var(--last)", "stroke-width": 2 }));
  return { root, scale };
}

function seconds(ms) {
  if (ms === null) return "";
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 1 : 0)} s`;
  return `${Math.floor(ms / 60000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, "0")}`;
}

// A game's win probability in a table cell.
function sparkline(wins) {
  const known = wins.map((win, index) => [index, win]).filter((spot) => spot[1] !== null);
  const root = svg("svg", { width: 140, height: 30, viewBox: "0 0 140 30", role: "img", "aria-label": say("score") });
  root.append(svg("line", { x1: 0, x2: 140, y1: 15, y2: 15, stroke: "var(--line)" }));
  const path = known.map(([index, win], at) => `${at ? "L" : "M"}${(2 + (index / Math.max(1, wins.length - 1)) * 136).toFixed(1)} ${(28 - win * 26).toFixed(1)}`).join(" ");
  root.append(svg("path", { d: path || "M0 15", fill: "none", stroke: "var(--accent)", "stroke-width": 1.5 }));
  return root;
}
