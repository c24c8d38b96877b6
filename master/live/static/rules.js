// Positions and the names of moves, by tsshogi.

import { Color, Move, PieceType, Position, Square, formatMove } from "./vendor/tsshogi.js";
import { language } from "./words.js";

export { Color, PieceType, Square };

const LETTERS = {
  pawn: "P", lance: "L", knight: "N", silver: "S", gold: "G", bishop: "B", rook: "R", king: "K",
  promPawn: "+P", promLance: "+L", promKnight: "+N", promSilver: "+S", horse: "+B", dragon: "+R",
};

export function positionOf(sfen) {
  return Position.newBySFEN(sfen);
}

// Plays USI moves on a copy: {position, last: Move or null, texts: the moves' names}; ends at one that cannot be made.
export function play(position, moves, last = null) {
  const board = position.clone();
  const texts = [];
  for (const usi of moves) {
    const move = usi && board.createMoveByUSI(usi);
    if (!(move instanceof Move)) break;
    texts.push(moveText(board, move, last));
    if (!board.doMove(move, { ignoreValidation: true })) break;
    last = move;
  }
  return { position: board, last, texts };
}

export function moveText(position, move, last) {
  const mark = position.color === Color.BLACK ? "☗" : "☖";
  if (language === "ja") return mark + formatMove(position, move, last ? { lastMove: last } : {}).replace(/^[☗☖▲△]|\s/g, "");
  const piece = LETTERS[move.pieceType], drop = !(move.from instanceof Square);
  const to = `${move.to.file}${move.to.rank}`;
  const sign = drop ? "*" : move.capturedPieceType ? "x" : "-";
  const others = drop ? [] : position.listAttackers(move.to).filter((square) => {
    const other = position.board.at(square);
    return other && other.color === position.color && other.type === move.pieceType && !square.equals(move.from);
  });
  const from = others.length ? `${move.from.file}${move.from.rank}` : "";
  return `${mark}${piece}${from}${sign}${to}${move.promote ? "+" : ""}`;
}

// The legal moves of the side to move from a square ("7g") or of a piece in hand ("P"): by goal, without and with promotion.
export function movesFrom(position, from) {
  const found = new Map(), hand = from.length === 1;
  for (let file = 1; file <= 9; file++) {
    for (const rank of "abcdefghi") {
      const to = `${file}${rank}`;
      const legal = (hand ? [`${from}*${to}`] : [from + to, `${from}${to}+`]).filter((usi) => {
        const move = position.createMoveByUSI(usi);
        return move instanceof Move && position.isValidMove(move);
      });
      if (legal.length) found.set(to, legal);
    }
  }
  return found;
}

// The SFEN after so many moves.
export function sfenOf(position, number) {
  return position.getSFEN(number);
}

export function usiText(position, usi, last = null) {
  return play(position, [usi], last).texts[0] || usi;
}

export function piecesOf(position) {
  const found = [];
  for (let file = 9; file >= 1; file--) {
    for (let rank = 1; rank <= 9; rank++) {
      const piece = position.board.at(new Square(file, rank));
      if (piece) found.push({ file, rank, type: piece.type, side: piece.color === Color.BLACK ? 0 : 1 });
    }
  }
  return found;
}

export function handOf(position, side) {
  const hand = side ? position.whiteHand : position.blackHand;
  return ["rook", "bishop", "gold", "silver", "knight", "lance", "pawn"].map((type) => [type, hand.count(type)]).filter((held) => held[1] > 0);
}

export const letterOf = (type) => LETTERS[type];
