// Side lines: a variation that is clicked through, and a reader's own moves, about which the engine may be asked.

import { play, movesFrom, sfenOf } from "./rules.js";
import { el, say } from "./words.js";

// redraw(): paints the page; asks(): whether there is an engine to ask.
export function explorer(redraw, asks) {
  let branch = null; // {from, moves, count}: the first `count` of the moves after the position at ply `from`
  let picked = "", choice = null; // the square or piece that the reader moves; [without, with promotion]
  const answers = new Map(); // by SFEN: null while the engine searches, then {lines, move, nodes} or {error}

  const here = (base) => (branch ? play(base.position, branch.moves.slice(0, branch.count), base.last) : { position: base.position, last: base.last });
  const key = (position) => sfenOf(position, 1);

  function show(from, moves, count) {
    branch = count ? { from, moves, count } : null;
    picked = "";
    choice = null;
    redraw();
  }

  async function ask(position) {
    const sfen = key(position);
    if (!asks() || answers.get(sfen)) return;
    answers.set(sfen, null);
    redraw();
    const reply = await fetch(`ask?sfen=${encodeURIComponent(sfen)}`, { headers: { "X-Gougi": "1" } }).catch(() => null);
    if (reply?.ok) answers.set(sfen, await reply.json());
    else if (reply?.status === 409) answers.delete(sfen);
    else answers.set(sfen, { error: reply ? await reply.text() : "" });
    redraw();
  }

  // The reader makes a move in the shown position.
  function move(ply, position, usi) {
    const made = branch ? branch.moves.slice(0, branch.count) : [];
    const from = branch ? branch.from : ply;
    show(from, [...made, usi], made.length + 1);
    ask(play(position, [usi]).position);
  }

  return {
    get branch() { return branch; },
    here, show,
    answer: (position) => answers.get(key(position)),
    // Back to the game; whether there was anything to leave.
    leave() {
      const was = branch !== null || picked !== "" || choice !== null;
      branch = choice = null;
      picked = "";
      return was;
    },
    // One move back or on; whether a side line is shown.
    step(by) {
      if (!branch) return false;
      const count = Math.max(0, Math.min(branch.moves.length, branch.count + by));
      show(branch.from, branch.moves, count);
      return true;
    },
    // The board's marks for a piece that is being moved.
    picked: (position) => (asks() ? { from: picked, goals: picked ? movesFrom(position, picked) : new Map() } : null),
    // The reader clicks a square, or a piece in hand.
    click(cell, ply, position) {
      const goals = picked ? movesFrom(position, picked) : new Map(), legal = goals.get(cell);
      choice = null;
      if (!legal) {
        picked = cell !== picked && movesFrom(position, cell).size ? cell : "";
        redraw();
      } else if (legal.length > 1) {
        choice = legal;
        redraw();
      } else move(ply, position, legal[0]);
    },
    // The buttons under the board.
    bar(ply, position) {
      const button = (name, words, act) => el("button", { type: "button", id: name, onclick: act }, ...[words].flat());
      if (choice) return [button("promote", say("promote"), () => move(ply, position, choice[1])), button("keep", say("do not promote"), () => move(ply, position, choice[0]))];
      const parts = [];
      if (asks()) parts.push(button("ask", [el("kbd", {}, "A"), say("ask the engine")], () => ask(position)));
      if (branch) parts.push(button("leave", say("back to the game"), () => show(branch.from, [], 0)));
      return parts;
    },
  };
}
