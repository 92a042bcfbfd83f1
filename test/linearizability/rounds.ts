import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ERROR_CODES } from '../../contracts/error-codes.js';
import type { JsonObject } from '../../contracts/json.js';
import { type PendingRequest, MODIFICATION_CONTRACT } from '../../contracts/review.js';
import { errorText } from '../../domain/errors.js';
import { deadlineOf } from '../../domain/decision/transitions.js';
import { createHttp, type Http, type Reply, toReply } from '../support/agent.js';
import { eventually, timePasses } from '../support/waiting.js';
import { type AtConsole, atConsole } from './console.js';
import type { Deployment, Up } from './deployments.js';
import type { History, Operation } from './history.js';

export interface RoundOptions {
  readonly deployment: Deployment;
  /** Reviews of this round. */
  readonly reviews: number;
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
/** Who is at the console, and what somebody else's press did to this review, too. */
const AT_CONSOLE = 300;
/** Calls that one press at the console decides at most. */
const MOST_AT_ONCE = 3;
/** How soon somebody is gone who does not wait for the answer to a press. */
const HUNG_UP_MS = 80;
/** Of those who follow a link, how many do not wait. */
const IMPATIENT = 0.5;

interface Review {
  readonly id: string;
  readonly correlationId: string;
  readonly digest: string;
  /** Names the call at the tools. */
  readonly memo: string;
  /** How many people it needs. */
  readonly required: number;
  readonly operations: Operation[];
}
interface Asked {
  /**
   * `link`: a decision link that the same person made, and that is looked up before it is followed. `redeemed`: such a link, followed at the
   * console. `bulk`: with others, by one press at the console.
   */
  readonly via: Exclude<Way, 'hung up'>;
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

export interface Round {
  readonly ended: readonly Ended[];
  readonly gate: Up;
  /** How often somebody was answered in each way, and did not wait. Each is there in every round. */
  readonly ways: ReadonlyMap<Way, number>;
}
/** Ways to decide in which somebody was answered, and `hung up` where somebody did not wait. */
export const WAYS = ['token', 'chat', 'link', 'redeemed', 'bulk', 'hung up'] as const;
type Way = (typeof WAYS)[number];
/** The second half of a round has a review for each of them, also where one expired as it was parked. */
export const FEWEST = 4 * WAYS.length;

const now = (): number => Number(process.hrtime.bigint());

/** Parks calls, lets people decide all of them at once in every way there is, kills what it is told in the middle, and waits until all are over. */
export async function playRound({ deployment, reviews, random }: RoundOptions): Promise<Round> {
  let gate: Up;
  let http: Http;
  let console_: Readonly<Record<Person, AtConsole>>;
  const ways = new Map<Way, number>();
  const took = (way: Way) => ways.set(way, 1 + (ways.get(way) ?? 0));
  const slackAnswers = await openSlackAnswers();
  const up = async (people: number) => {
    gate = await deployment.up({
      GATE_VELOCITY_LIMIT: '0',
      // Of a call that was answered 503 and abandoned a row may wait too.
      GATE_REVIEW_MAX_PARKED_CALLS: String(2 * reviews),
      GATE_HIL_QUORUM_RISKY: String(people),
      GATE_REVIEW_TTL_AUTO_SECS: String(TTL_SECS),
      GATE_REVIEW_TTL_STANDARD_SECS: String(TTL_SECS),
      GATE_REVIEW_TTL_STRICT_SECS: String(TTL_SECS),
      GATE_HIL_SLACK_SIGNING_SECRET: SLACK_SECRET,
      GATE_HIL_SLACK_API_URL: slackAnswers.url,
    });
    const { hil, proxy, console_workload: workload } = gate.development;
    const ca = readFileSync(proxy.ca, 'utf8');
    http = createHttp(hil.url, {
      ca,
      cert: readFileSync(workload.cert, 'utf8'),
      key: readFileSync(workload.key, 'utf8'),
    });
    const [dev, second] = await Promise.all(PEOPLE.map((person) => atConsole(gate.development, ca, tokenOf(person))));
    console_ = { 'operator:dev': dev as AtConsole, 'operator:second': second as AtConsole };
    const linked = { oidc_sub: 'dev', slack_user_id: CHAT_USER };
    const reply = await ask('POST', '/identities/upsert', 'operator:dev', randomUUID(), linked);
    if (reply.status !== 200) throw new Error(`the chat account could not be linked: ${reply.text}`);
  };
  const closed = async () => {
    await Promise.all([http, ...Object.values(console_)].map((one) => one.close()));
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
    return text === null ? null : toReply(reply.status, reply.headers, text);
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
    const call = now();
    const reply = await send(review, asked).catch(() => null);
    return answered(review, asked, client, call, reply && outputOf(reply, asked));
  }

  /** Writes down what was asked at `call` and is answered now. True where the answer says nothing of what happened. */
  function answered(
    review: Review,
    { via, kind, person, request, value }: Asked,
    client: number,
    call: number,
    output: Operation['output'] | null,
  ): boolean {
    const { required } = review;
    const input = { kind, subject: person, request, required, ...(value !== undefined && { value }) };
    if (output === null) {
      review.operations.push({ client, call, return: null, input, output: { known: false } });
      return true;
    }
    took(via);
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
  async function follow(review: Review, { kind, person }: Asked, client: number): Promise<string | null> {
    const made = await ask('GET', `/pending/${review.id}/decision-link?action=${kind}`, person, randomUUID()).catch(
      () => null,
    );
    if (made?.status !== 200) return null;
    const { token } = made.body as { token: string };
    await look(token, review, person, client);
    return token;
  }

  async function look(token: string, review: Review, person: Person, client: number): Promise<void> {
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

  /**
   * A link, followed at the console by somebody who may be gone before the answer: then what came of it is lost, and he looks where the link leads
   * now and follows it once more, which is another decision.
   */
  async function redeem(
    review: Review,
    asked: Asked & { kind: 'approve' | 'deny' },
    client: number,
    patienceMs = (): number | null => (random.next() < IMPATIENT ? random.next() * HUNG_UP_MS : null),
  ): Promise<void> {
    const token = await follow(review, asked, client);
    for (let again = 0; token !== null && again < 3; again += 1) {
      const page = await console_[asked.person].redeem(token, review.id);
      if (page === null) return;
      const patience = new AbortController();
      const afterMs = patienceMs();
      const gone = afterMs === null ? null : setTimeout(() => patience.abort(), afterMs);
      const call = now();
      const output = await page.press(asked.kind, review.required, patience.signal);
      if (gone !== null) clearTimeout(gone);
      if (!answered(review, { ...asked, request: page.request }, client, call, output)) return;
      if (patience.signal.aborted) took('hung up');
      await look(token, review, asked.person, client);
    }
  }

  /** One press for this review and some of the others. Those that nobody answered for are pressed again, as the page offers it. */
  async function decideMany(
    review: Review,
    { via, kind, person }: Asked & { kind: 'approve' | 'deny' },
    client: number,
    among: readonly Review[],
  ): Promise<void> {
    const others = Array.from({ length: Math.floor(random.next() * MOST_AT_ONCE) }, () => random.pick(among));
    let left = [...new Set([review, ...others])].map((one) => ({ one, request: randomUUID() }));
    for (let again = 0; left.length > 0 && again < 3; again += 1) {
      const call = now();
      const ticked = left.map(({ one: { id, digest }, request }) => ({ id, digest, request }));
      const came = await console_[person].decideMany(kind, ticked);
      left = left.filter(({ one, request }) =>
        answered(one, { via, kind, person, request }, AT_CONSOLE + client, call, came.get(one.id) ?? null),
      );
      if (left.length > 0) await timePasses(250, 'until it is tried again');
    }
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
      if (way < 0.2) return { via: 'chat', kind, person: 'operator:dev', request: `click-${request}` };
      if (way < 0.35) return { via: 'link', kind, person, request };
      if (way < 0.55) return { via: 'redeemed', kind, person, request };
      if (way < 0.75) return { via: 'bulk', kind, person, request };
    }
    const value = kind === 'assign' || kind === 'incident' ? { value: request.slice(0, 8) } : {};
    return { via: 'token', kind, person, request, ...value };
  };

  /** Everybody at once. */
  async function decideTogether(review: Review, count: number, among: readonly Review[]): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, async (_, client) => {
        const asked = anything(review);
        await timePasses(random.next() * SPREAD_MS, 'people do not click in one moment');
        await decide(review, asked, client, among);
      }),
    );
  }

  /** Who heard nothing says it again, under the same request id, as the answer 503 asks him to. */
  async function decide(review: Review, asked: Asked, client: number, among: readonly Review[]): Promise<void> {
    const { kind } = asked;
    if (kind === 'approve' || kind === 'deny') {
      if (asked.via === 'redeemed') return redeem(review, { ...asked, kind }, client);
      if (asked.via === 'bulk') return decideMany(review, { ...asked, kind }, client, among);
    }
    if (asked.via === 'link') await follow(review, asked, client);
    for (let again = 0; again < 3 && (await operate(review, asked, client)); again += 1) {
      if (asked.via === 'chat') return;
      await timePasses(250, 'until it is tried again');
    }
  }

  /** What chance and the kill left out: each on a review that nobody else decides yet. */
  async function decideInWaysLeftOut(some: readonly Review[]): Promise<void> {
    const left = WAYS.filter((way) => !ways.has(way));
    await Promise.all(
      left.map(async (via, index) => {
        const review = some[index] as Review;
        const asked = { kind: 'approve', person: 'operator:dev', request: randomUUID() } as const;
        if (via === 'hung up') await redeem(review, { ...asked, via: 'redeemed' }, 0, () => 0);
        else await decide(review, { ...asked, via }, 0, [review]);
      }),
    );
  }

  const park = async (count: number): Promise<Review[]> => {
    const agent = await gate.agent();
    const memos = Array.from({ length: count }, () => randomUUID());
    const made = await inTurns(memos, TOGETHER, async (memo): Promise<Review | null> => {
      const to = `vendor-${memo}`;
      // As the answer 503 of a busy engine asks, and where nobody answered: again, under the same id.
      let callId = randomUUID();
      let last: Reply | null = null;
      const call = { from: 'operating', to, amount: 1 };
      const reply = await eventually(`${memo} is answered`, async () => {
        last = await agent.call('wire_transfer', call, { idempotencyId: callId }).catch(() => null);
        if (last?.status !== 503) return last;
        // Closed before anything was done: it is that for good, and a call of its own is another one.
        if (last.body['error'] === 'call_abandoned') callId = randomUUID();
        return null;
      }).catch((error: unknown) => {
        throw new Error(`${errorText(error)}: ${last?.status} ${last?.text}\n${gate.output()}`);
      });
      // Parked by a request that was answered 503, and over before the next one: nobody could decide it.
      if (reply.status === 403 && reply.body['error'] === 'review_expired') return null;
      if (reply.status !== 202) throw new Error(`not parked: ${reply.status} ${reply.text}`);
      const row = await eventually(`the review of ${memo}`, async () => {
        const at = `/pending/by-correlation/${reply.correlationId}`;
        const found = await ask('GET', at, 'operator:dev', randomUUID()).catch(() => null);
        return found?.status === 200 && (JSON.parse(found.text) as PendingRequest);
      });
      const required = row.required_approvers ?? 1;
      const due = now() + (deadlineOf(row) - Date.now()) * 1e6 - 100e6;
      const expires = { client: OPERATIONS, call: due, return: null, input: { kind: 'expire', required } } as const;
      return {
        id: row.id,
        correlationId: reply.correlationId,
        digest: row.original_payload_digest ?? '',
        memo: to,
        required,
        operations: [{ ...expires, output: { known: false } }],
      };
    });
    return made.filter((review) => review !== null);
  };
  // A part of them is left for the deadline.
  let begun = 0;
  const decided = (some: readonly Review[]) =>
    inTurns(some, TOGETHER, (review) => {
      begun += 1;
      return decideTogether(review, Math.floor(random.next() * OPERATIONS), some);
    });

  // What a call needs is what holds when it is parked: the first half needs one number of people, the second half the other.
  const [first, second] = random.next() < 0.5 ? [1, 2] : [2, 1];
  await up(first);
  const parked = await park(Math.ceil(reviews / 2));
  const deciding = decided(parked);
  // However many reviews a round has, and however fast the machine is: while some of them are being decided.
  const most = 1 + Math.floor(random.next() * (parked.length - 1));
  await eventually('reviews are being decided', () => begun >= most);
  await timePasses(random.next() * SPREAD_MS, 'the kill comes at any moment');
  await gate!.lose();
  // What outlives it is asked on; the others find out that nobody answers.
  if (deployment.outlives) await deciding;
  await closed();
  await gate!.down();
  await up(second);
  await deciding;
  await decided(parked.filter(() => random.next() < 0.3));
  const more = await park(Math.floor(reviews / 2));
  await decideInWaysLeftOut(more);
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
  await closed();
  await slackAnswers.close();
  return { ended, gate: gate!, ways };
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
  if (reply.text.includes('it is not known whether this click decided')) return null;
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
