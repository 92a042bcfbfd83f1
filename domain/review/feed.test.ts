import { describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../../contracts/review.js';
import { eventually } from '../../test/support/waiting.js';
import { createReviewFeed, type FeedEvent, type FeedReset, type ReviewChange, type ReviewChanges } from './feed.js';

const row = (n: number, tenant: string): PendingRequest => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  correlation_id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  agent_id: 'bot',
  agent_spiffe: null,
  method: 'tools/call',
  request_payload: {},
  risk_summary: 'money',
  review_reasons: [],
  created_at: '2026-11-02T10:00:00.000Z',
  ttl_seconds: 600,
  status: 'pending',
  decided_at: null,
  decided_by: null,
  decision_reason: null,
  decided_via: null,
  approver_provenance: null,
  approver_assertion: null,
  credential_kind: null,
  original_payload_digest: '',
  approval_tier: null,
  tenant,
  state_namespace: 'operator',
  retention: {},
});

/** A store whose changes the test makes; `read` counts how often a row was put into words. */
function testSource() {
  let [changed, waiting, gap, broken] = [() => undefined as void, [] as ReviewChange[], false, false];
  let [read, readers] = [0, 0];
  const source = {
    changes(): ReviewChanges {
      readers += 1;
      return {
        next() {
          if (broken) return Promise.reject(new Error('the store is away'));
          const found = { changes: waiting, gap };
          [waiting, gap] = [[], false];
          return Promise.resolve(found);
        },
      };
    },
    onChange: (listener: () => void) => void (changed = listener),
  };
  return {
    source,
    change(from: number, to: number, tenant = 'acme') {
      for (let n = from; n <= to; n += 1) {
        const counted = row(n, tenant);
        const watched = new Proxy(counted, {
          get(target, name) {
            if (name === 'risk_summary') read += 1;
            return Reflect.get(target, name) as unknown;
          },
        });
        waiting.push({ type: 'created', row: watched });
      }
      changed();
    },
    loseTrack() {
      gap = true;
      changed();
    },
    breakDown() {
      broken = true;
      changed();
    },
    read: () => read,
    readers: () => readers,
  };
}

type Item = FeedEvent | FeedReset | null;
const idOf = (item: Item): number =>
  item && 'data' in item ? Number((JSON.parse(item.data()) as { pending: { id: string } }).pending.id.slice(-12)) : 0;

describe('the feed of reviews', () => {
  const openFeed = (options: Partial<Parameters<typeof createReviewFeed>[0]> = {}) => {
    const test = testSource();
    const feed = createReviewFeed({ source: test.source, now: () => 1_000_000, lookMs: 10, ...options });
    const follow = async (lastEventId: number | null = null, tenants = ['acme']) => {
      const ended = new AbortController();
      let dropped = false;
      const { from, events } = await feed.follow({
        tenants,
        lastEventId,
        signal: ended.signal,
        onDropped: () => void (dropped = true),
      });
      const take = async (count: number) => {
        const items: Item[] = [];
        while (items.length < count) {
          const { value, done } = await events.next();
          if (done) break;
          items.push(value);
        }
        return items;
      };
      return { from, take, leave: () => ended.abort(), dropped: () => dropped };
    };
    return { ...test, feed, follow };
  };

  it('keeps the last thousand events for who comes back; of anything older only that there was something', async () => {
    const { change, follow, feed } = openFeed();
    const first = await follow();
    first.leave();
    change(1, 1_000);
    const back = await follow(first.from);
    expect((await back.take(1_000)).map(idOf)).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1));
    back.leave();
    change(1_001, 1_001);
    expect(await (await follow(first.from)).take(1)).toEqual([{ id: first.from + 1_001, event: 'reset' }]);
    expect((await (await follow(first.from + 1)).take(1_000)).map(idOf).at(-1)).toBe(1_001);
    feed.close();
  });

  it('drops a follower for whom 257 events wait, and nobody else', async () => {
    const { change, follow, feed } = openFeed();
    const [slow, good] = [await follow(), await follow()];
    change(1, 256);
    expect(await good.take(256)).toHaveLength(256);
    expect(slow.dropped()).toBe(false);
    change(257, 257);
    expect((await good.take(1)).map(idOf)).toEqual([257]);
    expect([slow.dropped(), good.dropped()]).toEqual([true, false]);
    expect(await slow.take(1)).toEqual([]);
    const back = await follow(slow.from);
    expect(await back.take(257)).toHaveLength(257);
    feed.close();
  });

  it('filters before it puts a row into words, and does that once for all', async () => {
    const { change, follow, feed, read } = openFeed();
    const [one, two] = [await follow(), await follow()];
    const other = await follow(null, ['globex']);
    change(1, 50, 'initech');
    change(51, 51);
    expect((await one.take(1)).map(idOf)).toEqual([51]);
    expect((await two.take(1)).map(idOf)).toEqual([51]);
    expect(read()).toBe(1);
    other.leave();
    feed.close();
  });

  it('says that it is there when nothing came for one heartbeat', async () => {
    const { follow, feed, change } = openFeed({ heartbeatMs: 20 });
    const { take } = await follow();
    expect(await take(2)).toEqual([null, null]);
    change(1, 1);
    const next = await eventually('the event', async () => (await take(1)).map(idOf).find((id) => id > 0));
    expect(next).toBe(1);
    feed.close();
  });

  it('where the store lost track, followers list anew, and who comes back too', async () => {
    const { follow, feed, change, loseTrack } = openFeed();
    const following = await follow();
    change(1, 1);
    await following.take(1);
    loseTrack();
    const [reset] = await following.take(1);
    expect(reset).toMatchObject({ event: 'reset' });
    change(2, 2);
    expect((await following.take(1)).map(idOf)).toEqual([2]);
    expect(await (await follow(following.from + 1)).take(1)).toMatchObject([{ event: 'reset' }]);
    expect((await (await follow(reset?.id)).take(1)).map(idOf)).toEqual([2]);
    feed.close();
  });

  it('tells nothing of what was undone: followers list anew', async () => {
    let undone = false;
    const { follow, feed, change, readers } = openFeed({
      standsFromHere: () => () => (undone ? Promise.reject(new Error('undone')) : Promise.resolve()),
    });
    const following = await follow();
    undone = true;
    change(1, 1);
    expect(await following.take(1)).toMatchObject([{ event: 'reset' }]);
    undone = false;
    expect(readers()).toBeGreaterThan(1);
    feed.close();
  });

  it('a store that cannot be read ends every follower, and refuses the next', async () => {
    const { follow, feed, breakDown } = openFeed();
    const following = await follow();
    breakDown();
    expect(await following.take(1)).toEqual([]);
    expect(following.dropped()).toBe(true);
    await expect(follow()).rejects.toThrow('the store is away');
    feed.close();
  });

  it('ends its followers when it closes', async () => {
    const { follow, feed } = openFeed();
    const following = await follow();
    const taking = following.take(1);
    feed.close();
    expect(await taking).toEqual([]);
    expect(following.dropped()).toBe(false);
  });
});
