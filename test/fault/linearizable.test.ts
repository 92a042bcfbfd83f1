import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { checkHistories } from '../linearizability/checker.js';
import { faultsOf } from '../linearizability/faults.js';
import type { History, Operation } from '../linearizability/history.js';
import { KILLS, wholeGate } from '../linearizability/deployments.js';
import { playRound, WAYS } from '../linearizability/rounds.js';
import { hasGo } from '../support/go-program.js';
import { needs } from '../support/needs.js';
import { seededRandom } from '../support/random.js';
import { timesOf } from '../support/some-of.js';
import { STACK_START_LIMIT_MS } from '../support/stack.js';

const able = await hasGo();
const withGo = able ? it : it.skip;
const told = (what: string) => `${what}${needs('go', able)}`;

describe('the model that histories of reviews are checked against', () => {
  type Made = Pick<Operation, 'input' | 'output'> & { readonly from: number; readonly to: number | null };
  const history = (id: string, ...made: readonly Made[]): History => ({
    id,
    operations: made.map(({ from, to, input, output }, client) => ({ client, call: from, return: to, input, output })),
  });
  const by = (
    subject: string,
    kind: 'approve' | 'deny',
    status: string | null,
    from: number,
    to: number | null,
    required = 1,
  ): Made => ({
    from,
    to,
    input: { kind, subject, request: `${subject}-${from}`, required },
    output: status === null ? { known: false } : { known: true, status, by: subject },
  });
  const sees = (status: string, by_: string, from: number, approvals: readonly string[] = []): Made => ({
    from,
    to: from + 1,
    input: { kind: 'read', required: approvals.length > 1 ? 2 : 1 },
    output: { known: true, status, by: by_, approvals, assigned: '', incident: '' },
  });

  withGo(
    told('takes what can have happened, and nothing else'),
    async () => {
      const possible = [
        history('one decides', by('ana', 'approve', 'approved', 1, 5), sees('approved', 'ana', 6)),
        history('unheard, and it happened', by('ana', 'deny', null, 1, null), sees('denied', 'ana', 6)),
        history('unheard, and it did not', by('ana', 'deny', null, 1, null), by('ben', 'approve', 'approved', 6, 7)),
        history(
          'two together',
          by('ana', 'approve', 'pending', 1, 9, 2),
          by('ben', 'approve', 'approved', 2, 8, 2),
          sees('approved', 'ben', 10, ['ana', 'ben']),
        ),
      ];
      const counted = (subject: string, from: number, to: number): Made => ({
        from,
        to,
        input: { kind: 'approve', subject, request: `${subject}-${from}`, required: 2 },
        output: { known: true, status: 'counted' },
      });
      possible.push(
        history('counted, and completed by another', counted('ana', 1, 9), by('ben', 'approve', 'approved', 2, 8, 2)),
      );
      const link = (status: string, from: number): Made => ({
        from,
        to: from + 1,
        input: { kind: 'link', required: 1 },
        output: { known: true, status },
      });
      possible.push(
        history('a link, then a decision', link('pending', 1), by('ana', 'deny', 'denied', 3, 4), link('ended', 5)),
      );
      // Who hung up looks where his link leads, and what he is told then fits to what he sent.
      const again: Made = {
        from: 6,
        to: 7,
        input: { kind: 'deny', subject: 'ana', request: 'ana-again', required: 1 },
        output: { known: true, refused: 'already_decided' },
      };
      const unheard = by('ana', 'deny', null, 1, null);
      possible.push(
        history('a lost answer, and it happened', unheard, link('ended', 3), again),
        history('a lost answer, and it happened later', unheard, link('pending', 3), again),
      );
      const impossible = [
        history(
          'a lost answer, and another end after the first',
          unheard,
          link('ended', 3),
          by('ben', 'approve', 'approved', 5, 6),
        ),
        history('a lost answer to nothing', link('pending', 1), again),
        history('a link to what is over', by('ana', 'deny', 'denied', 1, 2), link('pending', 3)),
        history('a link that is over too early', link('ended', 1), by('ana', 'deny', 'denied', 3, 4)),
        history('counted after the end', by('ben', 'deny', 'denied', 1, 2, 2), counted('ana', 3, 4)),
        history('two decide', by('ana', 'approve', 'approved', 1, 5), by('ben', 'deny', 'denied', 2, 6)),
        history('told, and not shown', by('ana', 'approve', 'approved', 1, 5), sees('pending', '', 6)),
        history('shown, and then not', sees('denied', 'ana', 1), by('ana', 'deny', 'denied', 4, 5)),
        history('one is enough for two', by('ana', 'approve', 'approved', 1, 5, 2)),
        history('both are votes', by('ana', 'approve', 'pending', 1, 5, 2), by('ben', 'approve', 'pending', 2, 6, 2)),
        history(
          'a vote that nobody gave',
          by('ana', 'approve', 'pending', 1, 2, 2),
          sees('pending', '', 3, ['ben', 'ana']),
        ),
      ];
      const verdicts = await checkHistories([...possible, ...impossible]);
      expect(Object.fromEntries(verdicts)).toEqual({
        ...Object.fromEntries(possible.map(({ id }) => [id, 'Ok'])),
        ...Object.fromEntries(impossible.map(({ id }) => [id, 'Illegal'])),
      });
    },
    600_000,
  );
});

const REVIEWS = timesOf(66, 200);

describe('reviews that many people decide at once', () => {
  let tools: DemoUpstream;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-linearizable-'));
    const dataDir = join(folder, 'tools');
    tools = await startDemoUpstream({ dataDir, port: 0, host: '127.0.0.1', allowedHosts: [], sse: true });
  });
  afterAll(async () => {
    await tools.close();
    await rm(folder, { recursive: true, force: true });
  });

  withGo(
    told(
      `each have one end, whoever asks and whatever is killed: ${REVIEWS} of them, of one person and of two, kill -9 of the host, of the engine or of both in between`,
    ),
    async () => {
      const random = seededRandom('reviews that many people decide at once');
      const deployment = wholeGate({
        stateDir: join(folder, 'state'),
        toolsUrl: tools.url,
        kill: random.pick(KILLS),
      });
      const { ended, gate, ways } = await playRound({ deployment, reviews: REVIEWS, random });
      expect(await faultsOf(ended, tools.state())).toEqual([]);
      // The round says something: it had each of these.
      for (const status of ['approved', 'denied', 'expired']) expect(ended.map((one) => one.status)).toContain(status);
      expect([...ways.keys()].toSorted()).toEqual(WAYS.toSorted());
      expect(await gate.verify()).toMatchObject({ valid: true });
      await gate.down();
    },
    STACK_START_LIMIT_MS,
  );
});
