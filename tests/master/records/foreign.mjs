// Reads records, and writes them, with tsshogi: a JSON list of orders on stdin, a list of answers on stdout.
import { Move, exportCSA, exportKI2, exportKIF, importCSA, importKIF, importKI2 } from "./tsshogi.mjs";

const readers = { csa: importCSA, kif: importKIF, ki2: importKI2 };
const writers = { csa: (record) => exportCSA(record, { v3: { encoding: "UTF-8" } }), kif: exportKIF, ki2: exportKI2 };

function read(kind, text) {
  const record = readers[kind](text);
  if (record instanceof Error) throw record;
  return record;
}

function told(record) {
  const found = { start: record.initialPosition.sfen, moves: [], end: "", comments: [], lines: [] };
  let line = null;
  record.forEach((node) => {
    if (node.ply === 0) {
      found.comments.push(node.comment);
      return;
    }
    if (line === null || !node.isFirstBranch) found.lines.push((line = { ply: node.ply, moves: [], end: "" }));
    if (node.move instanceof Move) line.moves.push(node.move.usi);
    else line.end = node.move.type;
    if (found.lines.length === 1) found.comments.push(node.comment);
  });
  const main = found.lines.shift();
  return { ...found, moves: main?.moves ?? [], end: main?.end ?? "" };
}

let input = "";
for await (const part of process.stdin) input += part;
const answers = JSON.parse(input).map(({ kind, text, as }) => {
  try {
    const record = read(kind, text);
    return as ? { text: writers[as](record) } : told(record);
  } catch (error) {
    return { error: `${error.name}: ${error.message}` };
  }
});
process.stdout.write(JSON.stringify(answers));
