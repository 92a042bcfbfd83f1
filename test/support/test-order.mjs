/**
 * Suites that wait for engines and restarts take minutes: begun first, they run beside all the others instead of after them. So do the longest
 * of the others, lest one of them is begun last and the rest of the machine waits for it.
 */
const FIRST = [
  /fault\/kill-points/,
  /fault\//,
  /spec\/running-stack/,
  /e2e\//,
  /spec\//,
  /workflows\/[\w-]+\/workflow\.test/,
  /routes\/(?:regulatory|tenant-lifecycle|stream)\.test/,
  /domain\/(?:shell\/read-shell|sql\/read-sql|tool-classes\/|tool-definitions\/watch)/,
  /ledger\/|call-record\//,
];

const rank = ({ path }) => {
  const found = FIRST.findIndex((pattern) => pattern.test(path));
  return found === -1 ? FIRST.length : found;
};

/** The order in which Jest begins test files. A class, because Jest makes an instance of it. */
export default class TestOrder {
  sort(tests) {
    return [...tests].sort((a, b) => rank(a) - rank(b) || a.path.localeCompare(b.path));
  }

  shard(tests, { shardIndex, shardCount }) {
    return this.sort(tests).filter((_, index) => index % shardCount === shardIndex - 1);
  }

  allFailedTests(tests) {
    return this.sort(tests);
  }

  cacheResults() {}
}
