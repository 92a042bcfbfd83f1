// Loaded before the program (node --import): its wall clock is off by as many milliseconds as the file of GATE_TEST_CLOCK_FILE says. Timers
// and performance.now() are not, as on a machine whose clock is set.
import { readFileSync } from 'node:fs';

const RealDate = Date;
let offsetMs = 0;
let lookedAt = Number.NEGATIVE_INFINITY;
function now() {
  if (performance.now() - lookedAt > 20) {
    lookedAt = performance.now();
    offsetMs = Number(readFileSync(process.env.GATE_TEST_CLOCK_FILE, 'utf8')) || 0;
  }
  return RealDate.now() + offsetMs;
}
globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(now());
    else super(...given);
  }
  static now() {
    return now();
  }
};
