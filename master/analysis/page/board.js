"use strict";
// The board: an SFEN, USI moves played on it, and its picture as SVG.

const SVG = "http://www.w3.org/2000/svg";
const KANJI = {
  P: "歩", L: "香", N: "桂", S: "銀", G: "金", B: "角", R: "飛", K: "玉",
  "+P": "と", "+L": "杏", "+N": "圭", "+S": "全", "+B": "馬", "+R": "龍",
};
const HAND_ORDER = ["R", "B", "G", "S", "N", "L", "P"];
const NUMBERS = ["", "", "二", "三", "四", "五", "六", "七", "八", "九", "十"];
const RANKS = "一二三四五六七八九";
const FILES = "１２３４５６７８９";

function svg(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  for (const child of children) element.append(child);
  return element;
}

// {cells: 81 of {kind, side} or null by rank then column from the left, hands: [{P: 2}, {}]}
function parseSfen(sfen) {
  const [rows, , hands] = sfen.split(" ");
  const cells = [];
  for (const row of rows.split("/")) {
    let promoted = "";
    for (const letter of row) {
      if (letter === "+") { promoted = "+"; continue; }
      if (/\d/.test(letter)) { for (let i = 0; i < Number(letter); i++) cells.push(null); continue; }
      const kind = letter.toUpperCase();
      cells.push({ kind: promoted + kind, side: letter === kind ? 0 : 1 });
      promoted = "";
    }
  }
  const held = [{}, {}];
  for (const [, count, letter] of hands.matchAll(/(\d*)([A-Za-z])/g)) {
    const kind = letter.toUpperCase();
    held[letter === kind ? 0 : 1][kind] = Number(count || 1);
  }
  return { cells, hands: held };
}

// The cell of "7g": files count from the right, ranks from above.
function cellOf(square) {
  return (square.charCodeAt(1) - 97) * 9 + 9 - Number(square[0]);
}

function playUsi(board, usi, side) {
  if (usi.length < 4 || usi === "resign") return;
  const to = cellOf(usi.slice(2, 4));
  if (usi[1] === "*") {
    board.cells[to] = { kind: usi[0], side };
    board.hands[side][usi[0]]--;
    return;
  }
  const from = cellOf(usi.slice(0, 2));
  const piece = board.cells[from], taken = board.cells[to];
  if (!piece) return;
  if (taken) {
    const kind = taken.kind.replace("+", "");
    board.hands[side][kind] = (board.hands[side][kind] || 0) + 1;
  }
  board.cells[to] = { kind: usi[4] === "+" ? "+" + piece.kind : piece.kind, side };
  board.cells[from] = null;
}

// The SFEN of a board that `parseSfen` has read and `playUsi` has played on.
function sfenOf(board, side, number) {
  const rows = [];
  for (let rank = 0; rank < 9; rank++) {
    const letters = board.cells.slice(9 * rank, 9 * rank + 9).map((piece) => (!piece ? " " : piece.side ? piece.kind.toLowerCase() : piece.kind));
    rows.push(letters.join("").replace(/ +/g, (empty) => String(empty.length)));
  }
  const held = [0, 1].flatMap((owner) => HAND_ORDER.filter((kind) => board.hands[owner][kind] > 0).map((kind) => {
    const count = board.hands[owner][kind];
    return (count > 1 ? count : "") + (owner ? kind.toLowerCase() : kind);
  }));
  return `${rows.join("/")} ${"bw"[side]} ${held.join("") || "-"} ${number}`;
}

const CELL = 44, CELL_H = 48, LEFT = 66, TOP = 26;

function pieceShape(kind, side, x, y) {
  const w = 17, h = 21;
  const group = svg("g", { transform: `translate(${x} ${y})${side ? " rotate(180)" : ""}` });
  group.append(
    svg("path", {
      d: `M0 ${-h} L${w * 0.72} ${-h * 0.72} L${w} ${h * 0.9} L${-w} ${h * 0.9} L${-w * 0.72} ${-h * 0.72} Z`,
      fill: "var(--piece)", stroke: "var(--piece-edge)", "stroke-width": 1, "stroke-linejoin": "round",
    }),
    svg("text", {
      x: 0, y: 9.5, "text-anchor": "middle", "font-size": 25, "font-weight": 500,
      fill: kind[0] === "+" ? "var(--red)" : "#231a08",
    }, KANJI[kind]),
  );
  return group;
}

function centre(cell, flipped) {
  if (flipped) cell = 80 - cell;
  return [LEFT + (cell % 9) * CELL + CELL / 2, TOP + Math.floor(cell / 9) * CELL_H + CELL_H / 2];
}

// The hand of the side at the bottom (0) or at the top (1): at the right from below, at the left from above.
function drawHand(root, hand, side) {
  const x = side ? 32 : LEFT + 9 * CELL + 46;
  const kinds = HAND_ORDER.filter((kind) => hand[kind] > 0);
  kinds.forEach((kind, index) => {
    const y = side ? TOP + 22 + index * 50 : TOP + 9 * CELL_H - 22 - (kinds.length - 1 - index) * 50;
    root.append(pieceShape(kind, side, x, y));
    if (hand[kind] > 1) {
      root.append(svg("text", { x: x + (side ? -20 : 20), y: y + 17, "font-size": 13, "text-anchor": "middle", fill: "var(--ink)" },
        NUMBERS[hand[kind]] || String(hand[kind])));
    }
  });
}

function arrow(usi, colour, flipped, opacity = 0.75) {
  const [x2, y2] = centre(cellOf(usi.slice(2, 4)), flipped);
  if (usi[1] === "*") {
    return svg("g", { opacity, class: "arrow" },
      svg("circle", { cx: x2, cy: y2, r: 20, fill: "none", stroke: colour, "stroke-width": 4 }),
      svg("text", { x: x2 + 15, y: y2 - 11, "font-size": 17, "font-weight": 700, fill: colour, "text-anchor": "middle" }, KANJI[usi[0]]));
  }
  const [x1, y1] = centre(cellOf(usi.slice(0, 2)), flipped);
  const length = Math.hypot(x2 - x1, y2 - y1), dx = (x2 - x1) / length, dy = (y2 - y1) / length;
  const bx = x2 - dx * 15, by = y2 - dy * 15;
  return svg("g", { opacity, fill: colour, stroke: colour, class: "arrow" },
    svg("line", { x1, y1, x2: bx, y2: by, "stroke-width": 6, "stroke-linecap": "round" }),
    svg("path", { d: `M${x2} ${y2} L${bx - dy * 10} ${by + dx * 10} L${bx + dy * 10} ${by - dx * 10} Z`, "stroke-width": 1 }));
}

// last: the USI move that led here; best, second, played: USI moves to point at; flipped: white is at the bottom.
function drawBoard(board, last, best, side, played, flipped = false, second = null) {
  const width = LEFT * 2 + 9 * CELL + 8, height = TOP + 9 * CELL_H + 8;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "board", "font-family": "var(--font)" });
  root.append(svg("rect", { x: LEFT - 4, y: TOP - 4, width: 9 * CELL + 8, height: 9 * CELL_H + 8, fill: "var(--board)", rx: 3 }));
  if (last && last.length >= 4) {
    for (const [square, opacity] of [[last.slice(2, 4), 0.85], [last[1] === "*" ? "" : last.slice(0, 2), 0.35]]) {
      if (!square) continue;
      const [x, y] = centre(cellOf(square), flipped);
      root.append(svg("rect", { x: x - CELL / 2, y: y - CELL_H / 2, width: CELL, height: CELL_H, fill: "var(--last)", opacity }));
    }
  }
  for (let i = 0; i <= 9; i++) {
    const x = LEFT + i * CELL, y = TOP + i * CELL_H, w = i % 9 ? 1 : 2;
    root.append(svg("line", { x1: x, y1: TOP, x2: x, y2: TOP + 9 * CELL_H, stroke: "var(--board-line)", "stroke-width": w }));
    root.append(svg("line", { x1: LEFT, y1: y, x2: LEFT + 9 * CELL, y2: y, stroke: "var(--board-line)", "stroke-width": w }));
  }
  for (const [file, rank] of [[3, 3], [6, 3], [3, 6], [6, 6]]) {
    root.append(svg("circle", { cx: LEFT + file * CELL, cy: TOP + rank * CELL_H, r: 2.5, fill: "var(--board-line)" }));
  }
  for (let i = 0; i < 9; i++) {
    root.append(svg("text", { x: LEFT + i * CELL + CELL / 2, y: TOP - 9, "font-size": 12, "text-anchor": "middle", fill: "var(--soft)" }, FILES[flipped ? i : 8 - i]));
    root.append(svg("text", { x: LEFT + 9 * CELL + 13, y: TOP + i * CELL_H + CELL_H / 2 + 4, "font-size": 12, "text-anchor": "middle", fill: "var(--soft)" }, RANKS[flipped ? 8 - i : i]));
  }
  board.cells.forEach((piece, cell) => {
    if (piece) root.append(pieceShape(piece.kind, piece.side ^ flipped, ...centre(cell, flipped)));
  });
  const [below, above] = flipped ? [1, 0] : [0, 1];
  drawHand(root, board.hands[below], 0);
  drawHand(root, board.hands[above], 1);
  root.append(svg("text", { x: LEFT + 9 * CELL + 46, y: TOP + 4, "font-size": 15, "text-anchor": "middle", fill: side === below ? "var(--accent)" : "var(--soft)" }, "☗☖"[below]));
  root.append(svg("text", { x: 32, y: TOP + 9 * CELL_H, "font-size": 15, "text-anchor": "middle", fill: side === above ? "var(--accent)" : "var(--soft)" }, "☗☖"[above]));
  if (played) root.append(arrow(played, "var(--blunder)", flipped));
  if (second) root.append(arrow(second, "var(--accent)", flipped, 0.35));
  if (best && best !== "win") root.append(arrow(best, "var(--accent)", flipped));
  return root;
}
