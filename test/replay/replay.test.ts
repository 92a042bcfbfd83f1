import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';
import {
  CALLBACK_HISTORIES,
  CURRENT_SHAPE,
  decodeHistory,
  EARLIER_BURSTS,
  EARLIER_SHAPES,
  HISTORIES,
  IN_BURSTS,
  INSPECTED_BY_MODELS,
  BEFORE_RULE_ASKED_AGAIN,
  RULE_ASKED_AGAIN,
  PROBE_HISTORIES,
  RECONCILE_HISTORIES,
  REVIEW_HISTORIES,
  STREAM_HISTORIES,
} from './histories.js';
import { openRecordings } from './recording.js';

const folder = join(PROJECT_ROOT, HISTORIES);
const recorded = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.pb'))
  .map((file) => join(folder, file));

const inProject = (files: readonly string[]) => files.map((file) => join(PROJECT_ROOT, file));
const REVIEWS = inProject([1, 2].map((run) => `${REVIEW_HISTORIES}/approved-run-${run}.pb`));
const STREAM = inProject([`${STREAM_HISTORIES}/running.pb`]);
const OTHERS = inProject([
  `${CALLBACK_HISTORIES}/delivered.pb`,
  `${CALLBACK_HISTORIES}/given-up.pb`,
  `${PROBE_HISTORIES}/found.pb`,
  `${RECONCILE_HISTORIES}/pass.pb`,
]);
const CALLS = [join(folder, 'completed.pb'), join(folder, CURRENT_SHAPE, 'completed.pb')];

/** What is wrong with each history, as it was recorded and with another step in it. A process takes longer to start than to replay one. */
let faults: ReadonlyMap<string, string | null>;
let ofOtherSteps: ReadonlyMap<string, string | null>;
/** The built program replays: the engine's bundler and converter want files as they run. What is replayed is what stands in the sources. */
beforeAll(async () => {
  const compiler = join(PROJECT_ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  await promisify(execFile)(process.execPath, [compiler, '-b'], { cwd: PROJECT_ROOT });
  faults = await replay(...recorded, ...REVIEWS, ...STREAM, ...OTHERS);
  ofOtherSteps = await replay('--other-step', ...STREAM, ...OTHERS, ...CALLS);
}, 480_000);
const held = (files: readonly string[]) => new Map(files.map((file) => [file, null]));
const of = (files: readonly string[]) => new Map([...faults].filter(([file]) => files.includes(file)));
const noticed = (files: readonly string[]) => {
  for (const file of files) expect([file, ofOtherSteps.get(file)]).toEqual([file, expect.stringMatching(OTHER_STEP)]);
};
const OTHER_STEP = /[Nn]ondeterminis|does not match/;

async function replay(...argv: string[]): Promise<ReadonlyMap<string, string | null>> {
  const program = join(PROJECT_ROOT, 'dist', 'test', 'replay', 'replay.js');
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', program, ...argv], {
    timeout: 240_000,
  });
  return new Map(
    stdout
      .split('\n')
      // The engine's own log lines go the same way.
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { file: string; fault: string | null })
      .map(({ file, fault }) => [file, fault]),
  );
}

describe('workflows replay what was recorded', () => {
  it.each([
    'denied',
    'completed',
    'parked-run-1',
    'parked-run-2',
    'approved-run-1',
    'approved-run-2',
    'appending',
    'parked-appending-run-1',
    'parked-appending-run-2',
  ])('has a history of a call that was %s, as every earlier Gate took its steps and as they are taken now', (way) => {
    const files = recorded.map((file) => file.slice(folder.length + 1));
    expect(files).toEqual(
      expect.arrayContaining([...EARLIER_SHAPES, CURRENT_SHAPE].map((shape) => join(shape, `${way}.pb`))),
    );
  });

  it.each(['decided-in-line', 'moved-later-run-1', 'moved-later-run-2'])(
    'has histories of a call that was parked while many were: %s',
    (way) => {
      const shapes = [...EARLIER_BURSTS, IN_BURSTS];
      expect(recorded).toEqual(expect.arrayContaining(shapes.map((shape) => join(folder, shape, `${way}.pb`))));
    },
  );

  it.each([
    [BEFORE_RULE_ASKED_AGAIN, 'killed-before-its-rule-run-1'],
    [BEFORE_RULE_ASKED_AGAIN, 'killed-before-its-rule-run-2'],
    [RULE_ASKED_AGAIN, 'killed-before-its-rule'],
  ])('has histories of a call whose worker died before a rule decided it: %s', (shape, way) => {
    expect(recorded).toContain(join(folder, shape, `${way}.pb`));
  });

  it.each(['completed', 'changed-run-1', 'changed-run-2'])(
    'has histories of a call that models inspected: %s',
    (way) => {
      expect(recorded).toContain(join(folder, INSPECTED_BY_MODELS, `${way}.pb`));
    },
  );

  it('replays every one of them', () => {
    expect(of(recorded)).toEqual(held(recorded));
  });

  it('replays a review that no call asked for', () => {
    expect(of(REVIEWS)).toEqual(held(REVIEWS));
  });

  it('replays the stream of rows to a sink, which never ends', () => {
    expect(of(STREAM)).toEqual(held(STREAM));
    noticed(STREAM);
  });

  it('replays callbacks, taken and given up, a probe, and a pass of reconciliation', () => {
    expect(of(OTHERS)).toEqual(held(OTHERS));
    noticed(OTHERS);
  });

  it('notices a workflow whose steps are others', () => {
    noticed(CALLS);
  });
});

describe('npm run histories', () => {
  const DENIED = `${HISTORIES}/${CURRENT_SHAPE}/denied.pb`;
  const events = (count: number) => ({ events: Array.from({ length: count }, () => ({})) });

  it('adds what is missing, and leaves a recording as it is unless it is named', () => {
    const root = mkdtempSync(join(tmpdir(), 'gate-recordings-'));
    try {
      const said: string[] = [];
      const say = (line: string) => void said.push(line);
      const recorded = () => decodeHistory(readFileSync(join(root, DENIED))).events?.length;
      const kept = openRecordings(root, [], say);
      kept.keep(DENIED, events(2));
      kept.keep(DENIED, events(3));
      expect(recorded()).toBe(2);
      openRecordings(root, [DENIED], say).keep(DENIED, events(4));
      expect(recorded()).toBe(4);
      expect(said).toEqual([
        `recorded ${DENIED}: 2 events`,
        `kept ${DENIED}, which was recorded before; --replace ${DENIED} writes it anew`,
        `replaced ${DENIED}: 4 events`,
      ]);
      expect(() => openRecordings(root, [`${HISTORIES}/dinied.pb`], say)).toThrow('no such recording');
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});
