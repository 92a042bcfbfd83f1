import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ERROR_CODES } from '../../contracts/error-codes.js';
import type { JsonObject } from '../../contracts/json.js';
import { type PendingRequest, MODIFICATION_CONTRACT } from '../../contracts/review.js';
import { errorText } from '../../domain/errors.js';
import { deadlineOf } from '../../domain/review/transitions.js';
import { createHttp, type Http, type Reply } from '../support/agent.js';
import { startStack, type TestStack } from '../support/stack.js';
import { eventually, timePasses } from '../support/waiting.js';
import type { History, Operation } from './history.js';

export type Killed = 'host' | 'engine';
/** Each way to lose processes of Gate. */
export const KILLS: readonly (readonly Killed[])[] = [['host', 'engine'], ['host'], ['engine']];

export interface RoundOptions {
  /** A folder that outlives the kills. */
  readonly stateDir: string;
  /** The demonstration tools, which outlive them too. */
  readonly toolsUrl: string;
  /** Reviews of this round. */
  readonly reviews: number;
  /** What gets a kill -9 in the middle: the process that hosts every service, the engine, or both. */
  readonly kill: readonly Killed[];
  readonly random: { next(): number; pick<T>(from: readonly T[]): T };
}

/** Two people, one of whom also has an account in a chat. */
const PEOPLE = ['operator:dev', 'operator:second'] as const;
type Person = (typeof PEOPLE)[number];
const CHAT_USER = 'U0DEV';
const SLACK_SECRET = '0123456789abcdef0123456789abcdef';
const TTL_SECS = 20;
/** Operations on one review, and how far apart they begin at most. */
const OPERATIONS = 6;
const SPREAD_MS = 400;
/** Reviews that are worked on at the same time. */
const TOGETHER = 16;
/** What somebody saw in an answer is the operation of a client of its own. */
const SEEN = 100;

interface Review {
  readonly id: string;
  readonly correlationId: string;
  /** Names the call at the tools. */
  readonly memo: string;
  /** How many people it needs. */
  readonly required: number;
  readonly operations: Operation[];
}
interface Asked {
  /** `link`: a decision link that the same person made, and that is looked up before it is followed. */
  readonly via: 'token' | 'chat' | 'link';
  readonly kind: Operation['input']['kind'];
  readonly person: Person;
  readonly request: string;
  readonly value?: string;
}
export interface Ended {
  readonly history: History;
  readonly required: number;
  readonly memo: string;
  readonly correlationId: string;
  readonly status: string;
  readonly approvals: readonly string[];
}

const now = (): number => Number(process.hrtime.bigint());

/** Parks calls, lets people decide all of them at once in every way there is, kills what it is told in the middle, and waits until all are over. */
export async function playRound({
  stateDir,
  toolsUrl,
  reviews,
  kill,
  random,
}: RoundOptions): Promise<{ readonly ended: readonly Ended[]; readonly gate: TestStack }> {
  let gate: TestStack;
  let http: Http;
  const slackAnswers = await openSlackAnswers();
  const up = async (people: number) => {
    gate = await startStack({
      stateDir,
      env: {
        GATE_UPSTREAM_URL: toolsUrl,
        GATE_UPSTREAM_NAME: 'demo',
        GATE_VELOCITY_LIMIT: '0',
        GATE_REVIEW_MAX_PARKED_CALLS: String(reviews),
        GATE_HIL_QUORUM_RISKY: String(people),
        GATE_REVIEW_TTL_AUTO_SECS: String(TTL_SECS),
        GATE_REVIEW_TTL_STANDARD_SECS: String(TTL_SECS),
        GATE_REVIEW_TTL_STRICT_SECS: String(TTL_SECS),
        GATE_HIL_SLACK_SIGNING_SECRET: SLACK_SECRET,
        GATE_HIL_SLACK_API_URL: slackAnswers.url,
      },
    });
    const { hil, proxy, console_workload: console_ } = gate.development;
    http = createHttp(hil.url, {
      ca: readFileSync(proxy.ca, 'utf8'),
      cert: readFileSync(console_.cert, 'utf8'),
      key: readFileSync(console_.key, 'utf8'),
    });
    const linked = { oidc_sub: 'dev', slack_user_id: CHAT_USER };
    const reply = await ask('POST', '/identities/upsert', 'operator:dev', randomUUID(), linked);
    if (reply.status !== 200) throw new Error(`the chat account could not be linked: ${reply.text}`);
  };
  const tokenOf = (person: Person): string =>
    person === 'operator:dev' ? gate.development.operator_token : String(gate.development.other_operators?.['second']);
  const ask = (method: string, path: string, person: Person, request: string, body?: JsonObject): Promise<Reply> =>
    http.request(method, path, {
      headers: { authorization: `Bearer ${tokenOf(person)}`, 'x-request-id': request },
      ...(body && { body }),
    });

  async function click({ id }: Review, action: string, request: string): Promise<Reply | null> {
    const payload = {
      type: 'block_actions',
      user: { id: CHAT_USER },
      actions: [{ action_id: `${action}:${id}` }],
      trigger_id: request,
      response_url: `${slackAnswers.url}/actions/${request}`,
    };
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const signature = createHmac('sha256', SLACK_SECRET).update(`v0:${timestamp}:${body}`).digest('hex');
    const told = slackAnswers.of(request);
    const reply = await http.request('POST', '/webhook/slack', {
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-slack-request-timestamp': timestamp,
        'x-slack-signature': `v0=${signature}`,
      },
      body,
    });
    if (reply.status !== 200) return reply;
    const text = await told;
    return text === null ? null : { ...reply, text };
  }

  function send(review: Review, { via, kind, person, request, value }: Asked): Promise<Reply | null> {
    const at = `/pending/${review.id}`;
    switch (kind) {
      case 'read':
        return ask('GET', at, person, request);
      case 'assign':
        return ask('POST', `${at}/assign`, person, request, { assigned_to: value as string });
      case 'incident':
        return ask('PATCH', `${at}/incident`, person, request, { incident_summary: value as string });
      default: {
        if (via === 'chat') return click(review, kind, request);
        const diff = { contract: MODIFICATION_CONTRACT, replacements: [{ path: ['amount'], value: 7 }] };
        return ask('POST', `/decide/${review.id}`, person, request, {
          decision: kind,
          ...(kind === 'modify' && { modification_diff: diff }),
        });
      }
    }
  }

  /** One operation, written down with its answer. True where the answer says nothing of what happened. */
  async function operate(review: Review, asked: Asked, client: number): Promise<boolean> {
    const { kind, person, request, value } = asked;
    const { required } = review;
    const input = { kind, subject: person, request, required, ...(value !== undefined && { value }) };
    const call = now();
    const reply = await send(review, asked).catch(() => null);
    const output = reply && outputOf(reply, asked);
    if (output === null) {
      review.operations.push({ client, call, return: null, input, output: { known: false } });
      return true;
    }
    const ended = now();
    const push = (more: number, of: Operation['input'], said: Operation['output']) =>
      review.operations.push({ client: client + more, call, return: ended, input: of, output: said });
    const { status, by, refused } = output;
    if (kind !== 'approve' || required === 1) push(0, input, output);
    else if (status === 'approved' && by !== person) {
      // Two things in one answer: this approval was counted, and by the time of the answer somebody else's had completed the number.
      push(0, input, { known: true, status: 'counted' });
      push(SEEN, { kind: 'end', required }, { known: true, status, ...(by && { by }) });
    } else if (refused !== undefined) {
      // It may have been counted before what it is refused for.
      push(0, input, { known: false });
      push(SEEN, { ...input, kind: 'deny' }, output);
    } else push(0, input, output);
    return false;
  }

  /**
   * A link to the decision, looked up as the page behind it does: what the look said is the operation of a client of its own. A link that
   * was not made, because the review is over or nobody answered, leads nowhere.
   */
  async function follow(review: Review, { kind, person }: Asked, client: number): Promise<void> {
    const made = await ask('GET', `/pending/${review.id}/decision-link?action=${kind}`, person, randomUUID()).catch(
      () => null,
    );
    if (made?.status !== 200) return;
    const { token } = made.body as { token: string };
    const call = now();
    const looked = await ask('POST', '/decision-link/verify', person, randomUUID(), { token }).catch(() => null);
    if (looked?.status !== 200) return;
    const { valid, reason } = looked.body as { valid: boolean; reason: string };
    if (valid !== (reason === 'ok') || (!valid && reason !== 'not_pending'))
      throw new Error(`a link leads to ${looked.text}`);
    const { required } = review;
    const output = { known: true, status: valid ? 'pending' : 'ended' };
    review.operations.push({
      client: 2 * SEEN + client,
      call,
      return: now(),
      input: { kind: 'link', required },
      output,
    });
  }

  const anything = ({ required }: Review): Asked => {
    const person = random.pick(PEOPLE);
    const request = randomUUID();
    const kind = random.pick([
      'approve',
      'approve',
      'approve',
      'approve',
      'deny',
      required === 1 ? 'modify' : 'approve',
      'assign',
      'incident',
      'read',
      'read',
    ] as const);
    if (kind === 'approve' || kind === 'deny') {
      const way = random.next();
      if (way < 0.25) return { via: 'chat', kind, person: 'operator:dev', request: `click-${request}` };
      if (way < 0.5) return { via: 'link', kind, person, request };
    }
    const value = kind === 'assign' || kind === 'incident' ? { value: request.slice(0, 8) } : {};
    return { via: 'token', kind, person, request, ...value };
  };

  /** Everybody at once. Those who heard nothing say it again, under the same request id, as the answer 503 asks them to. */
  async function decideTogether(review: Review, count: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, async (_, client) => {
        const asked = anything(review);
        await timePasses(random.next() * SPREAD_MS, 'people do not click in one moment');
        if (asked.via === 'link') await follow(review, asked, client);
        for (let again = 0; again < 3 && (await operate(review, asked, client)); again += 1) {
          if (asked.via === 'chat') return;
          await timePasses(250, 'until it is tried again');
        }
      }),
    );
  }

  const park = async (count: number): Promise<Review[]> => {
    const agent = await gate.agent();
    const memos = Array.from({ length: count }, () => randomUUID());
    return inTurns(memos, TOGETHER, async (memo): Promise<Review> => {
      const to = `vendor-${memo}`;
      // As the answer 503 of a busy engine asks: again, under the same id.
      const callId = randomUUID();
      let last: Reply | null = null;
      const call = { from: 'operating', to, amount: 1 };
      const reply = await eventually(`${memo} is answered`, async () => {
        last = await agent.call('wire_transfer', call, { idempotencyId: callId });
        return last.status !== 503 && last;
      }).catch((error: unknown) => {
        throw new Error(`${errorText(error)}: ${last?.status} ${last?.text}\n${gate.output()}`);
      });
      if (reply.status !== 202) throw new Error(`not parked: ${reply.status} ${reply.text}`);
      const row = await gate.operator.rowOf(reply.correlationId);
      const required = row.required_approvers ?? 1;
      const due = now() + (deadlineOf(row) - Date.now()) * 1e6 - 100e6;
      const expires = { client: OPERATIONS, call: due, return: null, input: { kind: 'expire', required } } as const;
      return {
        id: row.id,
        correlationId: reply.correlationId,
        memo: to,
        required,
        operations: [{ ...expires, output: { known: false } }],
      };
    });
  };
  // A part of them is left for the deadline.
  let begun = 0;
  const decided = (some: readonly Review[]) =>
    inTurns(some, TOGETHER, (review) => {
      begun += 1;
      return decideTogether(review, Math.floor(random.next() * OPERATIONS));
    });

  // What a call needs is what holds when it is parked: the first half needs one number of people, the second half the other.
  const [first, second] = random.next() < 0.5 ? [1, 2] : [2, 1];
  await up(first);
  const parked = await park(Math.ceil(reviews / 2));
  const deciding = decided(parked);
  if (kill.length > 0) {
    // However many reviews a round has, and however fast the machine is: while some of them are being decided.
    const most = 1 + Math.floor(random.next() * (parked.length - 1));
    await eventually('reviews are being decided', () => begun >= most);
    await timePasses(random.next() * SPREAD_MS, 'the kill comes at any moment');
    await killed(kill, gate!);
  }
  // Without its engine the host goes on, and starts another.
  if (!kill.includes('host')) await deciding;
  await http!.close();
  await gate!.stop();
  await up(second);
  await deciding;
  await decided(parked.filter(() => random.next() < 0.3));
  const more = await park(Math.floor(reviews / 2));
  await decided(more);
  parked.push(...more);

  const ended = await inTurns(parked, TOGETHER, async (review): Promise<Ended> => {
    const row = await eventually(`the review of ${review.correlationId} is over`, async () => {
      const reply = await ask('GET', `/pending/${review.id}`, 'operator:dev', randomUUID()).catch(() => null);
      const found = reply?.status === 200 ? (JSON.parse(reply.text) as PendingRequest) : null;
      return found && found.status !== 'pending' && found;
    });
    const call = now();
    const output = { known: true, ...shownOf(row) };
    review.operations.push({
      client: 0,
      call,
      return: now(),
      input: { kind: 'final', required: review.required },
      output,
    });
    return {
      history: { id: review.correlationId, operations: review.operations },
      memo: review.memo,
      required: review.required,
      correlationId: review.correlationId,
      status: row.status,
      approvals: output.approvals,
    };
  });
  await http!.close();
  await slackAnswers.close();
  return { ended, gate: gate! };
}

const shownOf = (row: PendingRequest) => ({
  status: row.status,
  by: row.decided_by ?? '',
  approvals: (row.approvals ?? []).map(({ by }) => by),
  assigned: row.assigned_to ?? '',
  incident: row.incident_summary ?? '',
});

/** What an answer says; `null` where it leaves open whether anything happened. */
function outputOf(reply: Reply, { via, kind }: Asked): Operation['output'] | null {
  if (reply.status >= 500) return null;
  if (reply.status >= 400) return { known: true, refused: (reply.body as { error: string }).error };
  if (via !== 'chat') return { known: true, ...shownOf(JSON.parse(reply.text) as PendingRequest) };
  // A refusal ends with its code; what Gate could not do now is as if nobody had answered.
  const refused = /decided nothing\. .*\((\w+)\)"/.exec(reply.text)?.[1];
  if (refused !== undefined) return isAway(refused) ? null : { known: true, refused };
  // A card says how it ended; one that still has buttons is of a review that waits for somebody else.
  const ended = /"text":"Gate: A call was (approved|denied)/.exec(reply.text)?.[1];
  return { known: true, status: ended ?? (kind === 'approve' ? 'pending' : 'denied') };
}

const isAway = (code: string): boolean =>
  (ERROR_CODES as Readonly<Record<string, { status: number }>>)[code]!.status >= 500;

/** How long a click waits to be told what came of it; where its Gate was killed nothing comes. */
const TOLD_MS = 20_000;

/** Where Slack takes what clicks came to. */
async function openSlackAnswers() {
  const waiting = new Map<string, (text: string) => void>();
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      response.end('ok');
      waiting.get(request.url?.split('/').at(-1) ?? '')?.(text);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    of: (request: string): Promise<string | null> =>
      new Promise((done) => {
        const given = setTimeout(() => done(null), TOLD_MS);
        waiting.set(request, (text) => {
          clearTimeout(given);
          done(text);
        });
      }),
    close: async (): Promise<void> => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function killed(what: readonly Killed[], gate: TestStack): Promise<void> {
  const file = readFileSync(join(gate.stateDir, 'run', 'temporal.pid'), 'utf8');
  const engine = file.startsWith('{') ? (JSON.parse(file) as { pid: number }).pid : Number(file);
  const ended = new Promise((resolve) => gate.process.once('exit', resolve));
  if (what.includes('engine')) process.kill(engine, 'SIGKILL');
  if (!what.includes('host')) return;
  gate.process.kill('SIGKILL');
  await ended;
}

async function inTurns<Item, Made>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Made>,
): Promise<Made[]> {
  const made: Made[] = [];
  const left = items.entries();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const [index, item] of left) made[index] = await work(item);
    }),
  );
  return made;
}
