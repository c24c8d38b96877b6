// The board's picture as SVG.

import { GLYPHS } from "./glyphs.js";
import { handOf, letterOf, piecesOf } from "./rules.js";
import { svg } from "./words.js";

const KANJI = {
  pawn: "歩", lance: "香", knight: "桂", silver: "銀", gold: "金", bishop: "角", rook: "飛", king: "玉",
  promPawn: "と", promLance: "杏", promKnight: "圭", promSilver: "全", horse: "馬", dragon: "龍",
};
const NUMBERS = ["", "", "二", "三", "四", "五", "六", "七", "八", "九", "十"];
const CELL = 44, CELL_H = 48, SIDE = 76, TOP = 22;
const WIDTH = 2 * SIDE + 9 * CELL, HEIGHT = TOP + 9 * CELL_H + 8;
const SIZES = { king: 1.06, rook: 1.03, bishop: 1.03, dragon: 1.03, horse: 1.03, gold: 0.99, silver: 0.99, pawn: 0.9, promPawn: 0.9, lance: 0.94, promLance: 0.94, knight: 0.94, promKnight: 0.94 };

// A kanji of that size in pixels, its middle at (x, y): an outline, so that no font is needed.
export function glyph(sign, size, x, y, attributes = {}) {
  const scale = (size / 1000).toFixed(4);
  return svg("path", { class: "sign", d: GLYPHS[sign], transform: `translate(${x} ${y}) scale(${scale} -${scale}) translate(-500 -380)`, ...attributes });
}

function pieceShape(type, turned, x, y) {
  const w = 17.5 * (SIZES[type] || 1), h = 21.5 * (SIZES[type] || 1);
  const promoted = type.startsWith("prom") || type === "horse" || type === "dragon";
  return svg("g", { class: promoted ? "piece promoted" : "piece", transform: `translate(${x} ${y})${turned ? " rotate(180)" : ""}`, "data-sign": KANJI[type] },
    svg("path", { class: "wood-piece", d: `M0 ${-h} L${w * 0.74} ${-h * 0.72} L${w} ${h * 0.9} L${-w} ${h * 0.9} L${-w * 0.74} ${-h * 0.72} Z` }),
    glyph(KANJI[type], 25.5 * (SIZES[type] || 1), 0, 1.5));
}

// position: tsshogi's; last: a USI move; arrows: USI moves, the best one first; flipped: white sits below.
// picked: {from, goals}, the square or piece in hand that the reader moves; null: nobody may move here.
export function drawBoard(position, { last = "", arrows = [], flipped = false, label = "board", picked = null }) {
  const place = (file, rank) => flipped ? [SIDE + (file - 0.5) * CELL, TOP + (9.5 - rank) * CELL_H] : [SIDE + (9.5 - file) * CELL, TOP + (rank - 0.5) * CELL_H];
  const square = (text) => place(Number(text[0]), text.charCodeAt(1) - 96);
  const root = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label, class: "shogi" });
  root.append(svg("rect", { class: "wood", x: SIDE - 5, y: TOP - 5, width: 9 * CELL + 10, height: 9 * CELL_H + 10, rx: 4 }));
  if (last && last.length >= 4) {
    for (const [text, name] of [[last.slice(2, 4), "to"], [last[1] === "*" ? "" : last.slice(0, 2), "from"]]) {
      if (!text) continue;
      const [x, y] = square(text);
      root.append(svg("rect", { class: "last " + name, "data-square": text, x: x - CELL / 2, y: y - CELL_H / 2, width: CELL, height: CELL_H }));
    }
  }
  for (let i = 0; i <= 9; i++) {
    const x = SIDE + i * CELL, y = TOP + i * CELL_H, name = i % 9 ? "grid" : "grid edge";
    root.append(svg("line", { class: name, x1: x, y1: TOP, x2: x, y2: TOP + 9 * CELL_H }), svg("line", { class: name, x1: SIDE, y1: y, x2: SIDE + 9 * CELL, y2: y }));
  }
  for (const [file, rank] of [[3, 3], [6, 3], [3, 6], [6, 6]]) {
    root.append(svg("circle", { class: "star", cx: SIDE + file * CELL, cy: TOP + rank * CELL_H, r: 2.5 }));
  }
  for (let i = 1; i <= 9; i++) {
    const file = flipped ? i : 10 - i, rank = flipped ? 10 - i : i;
    root.append(svg("text", { class: "edge-label", x: SIDE + (i - 0.5) * CELL, y: TOP - 9, "text-anchor": "middle" }, String(file)));
    root.append(glyph("一二三四五六七八九"[rank - 1], 12, SIDE + 9 * CELL + 13, TOP + (i - 0.5) * CELL_H, { class: "edge-label" }));
  }
  for (const piece of piecesOf(position)) {
    root.append(pieceShape(piece.type, (piece.side === 1) !== flipped, ...place(piece.file, piece.rank)));
  }
  for (const side of [0, 1]) {
    const below = (side === 0) !== flipped, held = handOf(position, side);
    held.forEach(([type, count], index) => {
      const x = below ? SIDE + 9 * CELL + 42 : 30;
      const y = below ? TOP + 9 * CELL_H - 22 - (held.length - 1 - index) * 49 : TOP + 22 + index * 49;
      const shape = pieceShape(type, !below, x, y);
      shape.setAttribute("data-hand", `${side}${type}${count}`);
      if (picked && (position.color === "black" ? 0 : 1) === side) {
        shape.setAttribute("data-cell", letterOf(type));
        shape.classList.add("held");
        if (picked.from === letterOf(type)) shape.classList.add("picked");
      }
      root.append(shape);
      const signs = count > 10 ? ["十", NUMBERS[count - 10]] : count > 1 ? [NUMBERS[count]] : [];
      signs.forEach((sign, nth) => root.append(glyph(sign, 14, x + (below ? 24 : -24) + nth * 11 * (below ? 1 : -1), y + (below ? 13 : -13), { class: "count" })));
    });
  }
  arrows.forEach((usi, index) => { if (usi && usi.length >= 4) root.append(arrow(usi, square, index ? "arrow second" : "arrow")); });
  for (let file = 1; picked && file <= 9; file++) {
    for (const rank of "abcdefghi") {
      const text = `${file}${rank}`, [x, y] = square(text);
      const kind = text === picked.from ? " picked" : picked.goals.has(text) ? " goal" : "";
      root.append(svg("rect", { class: "cell" + kind, "data-cell": text, x: x - CELL / 2, y: y - CELL_H / 2, width: CELL, height: CELL_H }));
    }
  }
  return root;
}

function arrow(usi, square, name) {
  const [x2, y2] = square(usi.slice(2, 4));
  if (usi[1] === "*") return svg("g", { class: name }, svg("circle", { cx: x2, cy: y2, r: 20, "stroke-width": 4, class: "ring" }));
  const [x1, y1] = square(usi.slice(0, 2));
  const length = Math.hypot(x2 - x1, y2 - y1) || 1, dx = (x2 - x1) / length, dy = (y2 - y1) / length;
  const bx = x2 - dx * 15, by = y2 - dy * 15;
  return svg("g", { class: name },
    svg("line", { x1, y1, x2: bx, y2: by, "stroke-width": 6, "stroke-linecap": "round" }),
    svg("path", { d: `M${x2} ${y2} L${bx - dy * 10} ${by + dx * 10} L${bx + dy * 10} ${by - dx * 10} Z` }));
}
