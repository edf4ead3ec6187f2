// The state of the pool and of the block tables after each step: replayed from the records, with a copy now and then to start from.
"use strict";
const KEYFRAME_EVERY = 50;
const numBlocks = RUN ? RUN.num_blocks : 0;
const groups = RUN ? RUN.groups : [{ block_size: 1, window: null }];  // KV cache groups: one where all layers are alike
const steps = RUN ? RUN.steps : [];
// Blocks are handed out from the first on: those behind the last that any step changes are never used here.
const numTouched = steps.reduce((most, step) => step.b.reduce((last, [block]) => Math.max(last, block + 1), most), 1);
let state = null;
let stateAt = -1;
const keyframes = [];

function emptyState() {
  return { owner: new Int32Array(numBlocks).fill(-1), refs: new Int32Array(numBlocks), keyed: new Uint8Array(numBlocks),
           group: new Uint8Array(numBlocks), tables: new Map() };  // tables: of each request, one a group
}
function copyOf(old) {
  const tables = new Map();
  for (const [id, ofGroups] of old.tables) tables.set(id, ofGroups.map(table => table.slice()));
  return { owner: old.owner.slice(), refs: old.refs.slice(), keyed: old.keyed.slice(), group: old.group.slice(), tables };
}
function apply(step) {
  for (const id of step.v) state.tables.delete(id);
  for (const id of step.x) state.tables.delete(id);
  for (const [id, group, from, blocks] of step.k) {
    if (!state.tables.has(id)) state.tables.set(id, groups.map(() => []));
    const table = state.tables.get(id)[group];
    if (from === 0) table.length = 0;
    for (const block of blocks) table.push(block);
  }
  for (const [id, group, dropped] of step.d) state.tables.get(id)[group].fill(0, 0, dropped);
  for (const [block, owner, refs, keyed, group] of step.b) {
    state.owner[block] = owner; state.refs[block] = refs; state.keyed[block] = keyed; state.group[block] = group;
  }
}
function seek(index) {
  if (index < stateAt || index > stateAt + KEYFRAME_EVERY) {
    let frame = Math.min(Math.floor(index / KEYFRAME_EVERY), keyframes.length - 1);
    if (frame >= 0 && (index < stateAt || frame * KEYFRAME_EVERY > stateAt)) {
      state = copyOf(keyframes[frame]); stateAt = frame * KEYFRAME_EVERY;
    } else if (index < stateAt) {
      state = emptyState(); stateAt = -1;
    }
  }
  while (stateAt < index) {
    apply(steps[++stateAt]);
    if (stateAt % KEYFRAME_EVERY === 0 && keyframes.length === stateAt / KEYFRAME_EVERY) keyframes.push(copyOf(state));
  }
}
