/** Puts the clock of a process ahead, by the milliseconds in `GATE_TEST_CLOCK_AHEAD_MS`: for `node --import`. Its timers go on at their own pace. */
const aheadMs = Number(process.env['GATE_TEST_CLOCK_AHEAD_MS']);
const Real = globalThis.Date;
globalThis.Date = class extends Real {
  constructor(...given) {
    if (given.length === 0) super(Real.now() + aheadMs);
    else super(...given);
  }
  static now() {
    return Real.now() + aheadMs;
  }
};
