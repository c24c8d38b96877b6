// What the live page takes from tsshogi.
export { Color, Move, PieceType, Position, Square, formatMove } from "tsshogi";
