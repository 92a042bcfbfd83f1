import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { connectionIsOf, type HeldConnections, holdConnections } from './held-connections.js';

const MOST = 16;
const [OURS, THEIRS] = ['198.51.100.7', '203.0.113.9'];

let server: EventEmitter;
let connections: HeldConnections;
let told: string[];
let begun: Connection[];
beforeEach(() => {
  [server, told, begun] = [new EventEmitter(), [], []];
  server.on('connection', (socket: Connection) => begun.push(socket));
  connections = holdConnections(server as unknown as Server, { most: MOST, onFull: (what) => told.push(what) });
});

/** A connection at the listener. */
class Connection extends EventEmitter {
  static ports = 0;
  readonly remotePort = (Connection.ports += 1);
  readonly localAddress = '192.0.2.1';
  readonly localPort = 8085;
  isOpen = true;
  constructor(readonly remoteAddress: string) {
    super();
    server.emit('connection', this);
  }
  destroy(): void {
    this.isOpen = false;
    this.emit('close');
  }
  /** A request begins; what comes back ends it. */
  asks(): () => void {
    const response = new EventEmitter();
    server.emit('request', { socket: this as unknown as Socket }, response);
    return () => response.emit('close');
  }
  isOf(who: string): this {
    connectionIsOf({ raw: { socket: this as unknown as Socket } }, who);
    return this;
  }
}
const openFrom = (count: number, from = OURS) => Array.from({ length: count }, () => new Connection(from));
const closed = (of: readonly Connection[]) => of.flatMap(({ isOpen }, at) => (isOpen ? [] : [at]));

describe('connections at a listener that is full', () => {
  it('are closed for new ones, those first that were not used for longest', () => {
    const old = openFrom(MOST);
    old[0]?.asks()();
    const [fresh] = openFrom(2);
    expect([closed(old), fresh?.isOpen, told]).toEqual([[1, 2], true, ['closed', 'closed']]);
    expect([connections.open(), begun.length]).toEqual([MOST, MOST + 2]);
  });

  it('are closed of the address that has most', () => {
    const [ours, theirs] = [openFrom(3, OURS), openFrom(MOST - 3, THEIRS)];
    openFrom(5, '192.0.2.77');
    expect([closed(ours), closed(theirs)]).toEqual([[], [0, 1, 2, 3, 4]]);
  });

  it('are left to whoever proved who he is, also where all come from one address', () => {
    const operator = openFrom(1)[0]?.isOf('operator:dev of acme');
    const strangers = openFrom(MOST - 1);
    for (let n = 0; n < 100; n += 1) strangers.push(...openFrom(1));
    expect(operator?.isOpen).toBe(true);
    // A stranger who asks all the time is none the less one.
    const asking = strangers.filter(({ isOpen }) => isOpen);
    for (const one of asking) one.asks();
    openFrom(1);
    expect([operator?.isOpen, closed(asking)]).toEqual([true, [0]]);
  });

  it('are closed of known people where nothing is asked on them, and no stranger has one', () => {
    const people = openFrom(MOST).map((one, n) => one.isOf(`person ${n}`));
    const streams = people.slice(0, MOST - 1).map((one) => one.asks());
    openFrom(1);
    expect(closed(people)).toEqual([MOST - 1]);
    // Whatever was asked is answered: it may go now.
    begun.at(-1)?.isOf('person new').asks();
    streams[3]?.();
    openFrom(1);
    expect(closed(people)).toEqual([3, MOST - 1]);
  });

  it('are left to known people who use them, and a new one is refused', () => {
    const people = openFrom(MOST).map((one, n) => one.isOf(`person ${n}`));
    for (const one of people) one.asks();
    const fresh = new Connection(OURS);
    expect([closed(people), fresh.isOpen, begun.includes(fresh), told]).toEqual([[], false, false, ['refused']]);
    people[5]?.destroy();
    expect(new Connection(OURS).isOpen).toBe(true);
  });

  it('are closed of one who uses more than his share', () => {
    const one = openFrom(3).map((connection) => connection.isOf('greedy'));
    const people = openFrom(MOST - 3).map((connection, n) => connection.isOf(`person ${n}`));
    for (const connection of [...one, ...people]) connection.asks();
    openFrom(1);
    expect([closed(one), closed(people), told]).toEqual([[0], [], ['closed']]);
  });

  it('count no more when they are closed', () => {
    const old = openFrom(MOST);
    for (const one of old) one.destroy();
    openFrom(MOST);
    expect([connections.open(), told]).toEqual([MOST, []]);
  });
});

describe('a listener that ends', () => {
  it('closes the connections on which nothing was ever asked, and no other', () => {
    const [asking, answered, unused] = openFrom(3);
    asking?.asks();
    answered?.asks()();
    connections.closeUnused();
    expect([asking?.isOpen, answered?.isOpen, unused?.isOpen]).toEqual([true, true, false]);
    expect(connections.open()).toBe(2);
  });
});
