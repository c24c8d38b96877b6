// The parts of tsshogi that the live page uses.
export { Color, Move, PieceType, Position, Square, formatMove } from "tsshogi";
