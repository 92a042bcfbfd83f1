import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { errorText } from '../domain/errors.js';
import { STORES } from '../test/support/ledger.js';
import { runBrainBench } from './brain.js';
import { CALL_KINDS, runCallsBench } from './calls.js';
import { runConsoleBench } from './console.js';
import { runIdentityBench } from './identity.js';
import { runIdleBench } from './idle.js';
import { ANSWERS_AFTER_MS, HEDGE_AFTER_MS, runJudgesBench } from './judges.js';
import { runLedgerBench } from './ledger.js';
import { runLedgerReadsBench } from './ledger-reads.js';
import { LITE_KINDS, runLiteBench } from './lite.js';
import { runLiteWriterBench } from './lite-writer.js';
import { describeMachine } from './machine.js';
import { runParksBench } from './parks.js';
import { runPolicyBench } from './policy.js';
import { runPolicyLabBench } from './policy-lab.js';
import { PROXY_KINDS, runProxyBench } from './proxy.js';
import { runReviewBench } from './review.js';
import { runReviewListsBench } from './review-lists.js';
import { writeReport } from './report.js';
import { runSoak, SOAK_SIDES } from './soak.js';
import { runStartBench } from './start.js';
import { runSdkBench } from './sdk.js';

const USAGE = `usage: npm run bench -- [calls|proxy|start|lite|lite-writer|parks|ledger|ledger-reads|review|review-lists|console|policy|policy-lab|brain|identity|sdk] [options]
  calls    Gate over bare workflows of the same shape (default)
    --rounds N      rounds per kind and side (6)
    --seconds S     length of a round, at concurrency 1 and at 16 each (3)
    --kinds A,B     of ${CALL_KINDS.join(', ')}
    --other DIR     another built copy of Gate, measured in the same run
  proxy    what both editions add to a request over asking the same tools directly
    --rounds N      rounds per kind and side (6)
    --seconds S     length of a round, at concurrency 1 and at 16 each (3)
    --kinds A,B     of ${PROXY_KINDS.join(', ')}; with --soak of ${SOAK_SIDES.join(', ')}
    --soak MINUTES  instead: so long at 70 % of the load, with memory and errors
    --idle N        instead: beside N idle sessions with open streams (10000), as far as the descriptor limit goes
  start    from the command to ready, and the first call after it, over the engine alone
    --rounds N      starts of each side (6)
    --other DIR     another built copy of Gate, measured in the same run
  lite     the lite edition over one durable insert behind the same HTTP server
    --rounds N      rounds per kind and side (6)
    --seconds S     length of a round, at concurrency 1 and at 16 each (3)
    --kinds A,B     of ${LITE_KINDS.join(', ')}
    --tools N       the agent was shown so many tools besides those that it calls (none)
    --other DIR     another built copy of Gate, measured in the same run
  lite-writer  the work of lite's file for a denied call, on the asking thread and in one of its own
    --rounds N      rounds per side (6)
    --seconds S     length of a round, at concurrency 1 and at 16 each (3)
  parks    thousands of parked calls: cost, what others feel, all due at once
    --parks N       how many (5000)
    --modes A,B     of continue, stay (GATE_PARK)
  ledger   the chain over plain inserts and plain hashing, at the store's port and over HTTP
    --seconds S     time of each line (4)
    --verify-rows N length of the chain that is walked (20000)
  ledger-reads  audits and reports in a long ledger
    --rows N        how many (1000000); beyond 2000000 only what an index answers
  review   more and more parked calls: memory, lists, decisions, fresh calls, a restart, expiry, all due at once
    --parks N       how many (100000)
    --minutes M     parking ends after this time, however many wait (90)
  review-lists  people's lists beside many reviews
    --rows N        how many (100000)
  console  pages of the console beside much that waits and a long ledger, and what a browser feels of it
    --parks N       how many calls wait (10000)
    --rows N        rows of the ledger (1000000)
    --policies N    policies of operators (300)
    --pages A,B     only these paths, in the large stores alone and by no browser
    --rounds N      rounds per page (3)
    --seconds S     length of a round, for one caller and for 16 each (0.5)
  policy   what the rules cost a call beside one trivial rule, and what calls feel of a change of the rules
    --policies N    policies of operators beside the rules that ship (300)
    --changes N     changes under load of each kind (12)
    --other DIR     another built copy of Gate, whose changes are measured in the same run
    --rounds N      rounds per side (6)
  policy-lab  a candidate against recorded traffic: evaluations per second and memory
    --rows N        recorded evaluations (1000000)
    --policies N    policies of the candidate (300)
    --store KIND    where the ledger is: sqlite or postgres (sqlite)
  brain    what the readers of injected instructions cost, beside the whole inspection of a call, and what models do where a provider is away
    --rounds N      rounds (6)
  identity  certificates, grants and their checks
    --seconds S     length of a round, at concurrency 1 and at 16 each (3)
  sdk      what the agent SDK adds to a question over the same request by hand
    --rounds N      rounds per kind and side (6)
    --seconds S     length of a round, at concurrency 1 and at 16 each (3)
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    kinds: { type: 'string' },
    other: { type: 'string' },
    tools: { type: 'string' },
    rows: { type: 'string' },
    store: { type: 'string', default: 'sqlite' },
    'verify-rows': { type: 'string', default: '20000' },
    parks: { type: 'string' },
    minutes: { type: 'string', default: '90' },
    modes: { type: 'string', default: 'stay,continue' },
    soak: { type: 'string' },
    idle: { type: 'string' },
    policies: { type: 'string', default: '300' },
    pages: { type: 'string' },
    changes: { type: 'string', default: '12' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
/** The kinds asked for, of those there are; all when none was named. */
const kindsOf = <Kind extends string>(all: readonly Kind[]): Kind[] =>
  all.filter((kind) => values.kinds === undefined || values.kinds.split(',').includes(kind));
const rounds = Number(values.rounds ?? '6');
const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function run(what: string): Promise<void> {
  if (what === 'calls')
    return runCallsBench({
      rounds,
      roundMs: Number(values.seconds ?? '3') * 1000,
      kinds: kindsOf(CALL_KINDS),
      ...(values.other !== undefined && { other: values.other }),
      say,
    });
  if (what === 'proxy') {
    if (values.soak !== undefined) return runSoak({ minutes: Number(values.soak), sides: kindsOf(SOAK_SIDES), say });
    if (values.idle !== undefined)
      return runIdleBench({
        sessions: Number(values.idle || '10000'),
        rounds,
        roundMs: Number(values.seconds ?? '3') * 1000,
        say,
      });
    return runProxyBench({
      rounds,
      roundMs: Number(values.seconds ?? '3') * 1000,
      kinds: kindsOf(PROXY_KINDS),
      say,
    });
  }
  if (what === 'start') {
    const { machine, rows } = await runStartBench({
      rounds,
      ...(values.other !== undefined && { other: values.other }),
      say,
    });
    return writeReport('start', {
      title: 'From `gate start` to ready, and the first call after it',
      machine,
      notes: [
        'A start over a state folder that is there, in turns with the engine alone, which it cannot be faster than.',
        'first_call_ms and later_call_ms: an executed list_files by one agent over mutual TLS, its handshake in the first.',
        'node_cpu_to_ready_ms says more than the time on a shared machine.',
      ],
      tables: { start: rows },
    });
  }
  if (what === 'lite')
    return runLiteBench({
      rounds,
      roundMs: Number(values.seconds ?? '3') * 1000,
      kinds: kindsOf(LITE_KINDS),
      ...(values.tools !== undefined && { tools: Number(values.tools) }),
      ...(values.other !== undefined && { other: values.other }),
      say,
    });
  if (what === 'lite-writer') return runLiteWriterBench({ rounds, roundMs: Number(values.seconds ?? '3') * 1000, say });
  if (what === 'parks')
    return runParksBench({
      parks: Number(values.parks ?? '5000'),
      modes: (['stay', 'continue'] as const).filter((mode) => values.modes.split(',').includes(mode)),
      say,
    });
  if (what === 'ledger') {
    const machine = describeMachine(tmpdir());
    const cells = await runLedgerBench({
      verifyRows: Number(values['verify-rows']),
      ...(values.seconds !== undefined && { secondsPerCell: Number(values.seconds) }),
      say,
    });
    return writeReport('ledger', {
      title: 'The chain over plain inserts and plain hashing',
      machine,
      notes: [
        'Both sides of a line run in turns over the same store with the same durability; ratio is rows over the baseline.',
        'Aims: at least half of the plain insert rate, 20,000 appended rows/s on Postgres, 100,000 verified rows/s.',
      ],
      tables: { ledger: cells },
    });
  }
  if (what === 'ledger-reads') {
    const rows = Number(values.rows ?? '1000000');
    const { machine, figures } = await runLedgerReadsBench({ rows, say });
    return writeReport(`ledger-reads-${rows}`, {
      title: 'Reads of a long ledger',
      machine,
      notes: [
        'One reader, at the port of the store, warm. Goal: the rows of one call in under 5 ms of a million rows.',
        'longest_block_ms: how long nothing else could run in the process; a file store answers in the same thread.',
      ],
      tables: { reads: figures },
    });
  }
  if (what === 'review')
    return runReviewBench({ parks: Number(values.parks ?? '100000'), minutes: Number(values.minutes), say });
  if (what === 'review-lists') {
    const { machine, figures } = await runReviewListsBench({ rows: Number(values.rows ?? '100000'), say });
    return writeReport('review-lists', {
      title: 'Lists beside many reviews',
      machine,
      notes: [
        'One reader, through the routes of HIL without a network, warm. Goal: under 50 ms at p95 with 100,000 rows.',
        'longest_block_ms: how long nothing else could run in the process; a file store answers in the same thread.',
        'node_cpu_ms: CPU of this process for one read, which says more than the time on a shared machine; without Postgres.',
      ],
      tables: { reads: figures },
    });
  }
  if (what === 'console')
    return runConsoleBench({
      pending: Number(values.parks ?? '10000'),
      rows: Number(values.rows ?? '1000000'),
      policies: Number(values.policies),
      rounds: Number(values.rounds ?? '3'),
      roundMs: Number(values.seconds ?? '0.5') * 1000,
      only: values.pages?.split(',').map((path) => (path.startsWith('/') ? path : `/${path}`)),
      say,
    });
  if (what === 'policy') {
    const { machine, evaluations, changes } = await runPolicyBench({
      rounds,
      policies: Number(values.policies),
      changes: Number(values.changes),
      other: values.other,
      say,
    });
    return writeReport('policy', {
      title: 'What the rules cost a call, and what calls feel of a change of the rules',
      machine,
      notes: [
        `Evaluations: one thread, sides in turns. Of the ${rounds} times of each call the least counts, because other work only adds; p50 and p99 are over the distinct calls. Each is parsed anew, outside of the time, and known by no cache but that of names. Before, each side judged every call twice: a process that has just begun runs its code uncompiled.`,
        'opa-wasm, one trivial rule: the limit of the runtime; it finds nothing in the arguments and writes the same input.',
        'Changes: an engine over a store in a file, asked over HTTP all the time by four callers of another process; one policy is switched off and on.',
        'longest_block_ms: how long nothing else could run in the engine. Lines without changes say what the machine adds.',
        'longest_work_ms: the most that the thread of the engine worked between two ticks of a millisecond, to which other work on the machine adds nothing.',
        'Aims: p99 under 1 ms with the rules that ship, under 3 ms with 300 policies, by tools that were seen before; no failed call, and no block over 50 ms. The first call by a name has the name read too, and is not held against them.',
      ],
      tables: { evaluations, changes },
    });
  }
  if (what === 'policy-lab') {
    const store = STORES.find((kind) => kind === values.store);
    if (store === undefined) throw new Error(USAGE);
    const { machine, figures } = await runPolicyLabBench({
      store,
      rows: Number(values.rows ?? '1000000'),
      policies: Number(values.policies),
      say,
    });
    return writeReport('policy-lab', {
      title: 'A lab over recorded traffic',
      machine,
      notes: [
        `Evaluations as the pipeline records them, in a ledger ${store === 'postgres' ? 'on Postgres' : 'in a file'} whose inputs are encrypted; the lab reads and judges as the policy engine does.`,
        `The candidate: ${values.policies} policies beside the rules that ship. Each call is judged by the rules of now and by the candidate.`,
        'peak_resident_mib: of the whole process, threads included; before_mib: as the lab begins. The second line must not be much above the first.',
        'longest_block_ms: how long nothing else ran on the thread that serves; longest_work_ms: the same by the processor’s time alone, to which other work on the machine adds nothing.',
      ],
      tables: { lab: figures },
    });
  }
  if (what === 'brain')
    return writeReport('brain', {
      title: 'What the readers of injected instructions cost',
      machine: describeMachine(tmpdir()),
      notes: [
        `One thread, each text alone. Of the ${rounds} times of each text the least counts, because other work only adds; p50 and p99 are over the distinct texts.`,
        'Texts: the pages of this repository. resident_mib: of the whole process, the weights included.',
        'Aim: under 1 ms for a text of ordinary length, at p50; longer texts and rare ones take more.',
        `Models: a provider that is well answers after ${ANSWERS_AFTER_MS} ms, and the second is asked beside the first after ${HEDGE_AFTER_MS} ms. Aim: with the first one dead, p95 is that of both being well and the hedge more at most, and no call passes that would have been refused.`,
      ],
      tables: {
        brain: await runBrainBench({ rounds, say }),
        'models, of two providers': await runJudgesBench({ inspections: 600, say }),
      },
    });
  if (what === 'identity')
    return writeReport('identity', {
      title: 'Certificates, grants and their checks',
      machine: describeMachine(tmpdir()),
      notes: [
        'Identity over a SQLite file, in one process and without a network: each certificate and each grant is a request that is verified, an intent, a signature, and a row with its row for the ledger.',
        'p50 and p99 are those of one caller. Requests and ID tokens are made before, outside of the time.',
        'The check of a grant is what a proxy does with each call that shows one: its signature, where that was not looked at before, whose it is, its time and its standing.',
        'Aim: the check under 100 microseconds at p50. The first one of a grant has the keys read too.',
      ],
      tables: { identity: await runIdentityBench({ roundMs: Number(values.seconds ?? '3') * 1000, say }) },
    });
  if (what === 'sdk') return runSdkBench({ rounds, roundMs: Number(values.seconds ?? '3') * 1000, say });
  throw new Error(USAGE);
}

try {
  if (values.help) process.stdout.write(USAGE);
  else await run(positionals[0] ?? 'calls');
} catch (error) {
  say(errorText(error));
  process.exitCode = 1;
}
