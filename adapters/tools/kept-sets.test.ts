import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { toolClassMigrations } from '../../migrations/tool-classes.js';
import { toolPinMigrations } from '../../migrations/tool-pins.js';
import { callMigrations } from '../../migrations/calls.js';
import { type LocalFile, openLocalFile } from '../store/local-file.js';
import { toolClassStoreOver, type ToolClassTables } from './class-store.js';
import { toolPinStoreOver, type ToolPinTables } from './pin-store.js';

const keys = parseKeyRing(`k1:${'0123456789abcdef'.repeat(4)}`);
const OWNER = { tenant: 'acme', agent: 'bot' };
const shown = (...tools: readonly string[]) => new Map(tools.map((tool) => [tool, tool.padEnd(64, '0')]));

describe('what a process makes of stored sets of tools', () => {
  let file: LocalFile;
  beforeEach(async () => {
    file = await openLocalFile({
      file: ':memory:',
      migrations: { calls: callMigrations, pins: toolPinMigrations, classes: toolClassMigrations },
    });
  });
  afterEach(() => file.close());

  const pinsOf = () => toolPinStoreOver(file.store<ToolPinTables>(), { keys, upstream: 'tools' });
  const classesOf = () => toolClassStoreOver(file.store<ToolClassTables>(), keys);

  it('is made once of a list that agents were shown, and anew once the list is another one', async () => {
    const pins = pinsOf();
    await pins.saw(OWNER, shown('read', 'write'), true);
    const seen = await pins.seen(OWNER);
    expect([...seen.keys()].toSorted()).toEqual(['read', 'write']);
    expect(await pins.seen(OWNER)).toBe(seen);
    await pins.saw(OWNER, shown('read'), true);
    expect([...(await pins.seen(OWNER)).keys()]).toEqual(['read']);
    expect(seen.size).toBe(2);
  });

  it('is made once of pins, and is nothing once somebody else has written them', async () => {
    const pins = pinsOf();
    await pins.pin(OWNER, shown('read'));
    await pins.complete(OWNER);
    const { digests } = await pins.read(OWNER);
    expect((await pins.read(OWNER)).digests).toBe(digests);
    file.connection.exec(`update tool_pin_sets set content = replace(content, '"read"', '"rm"')`);
    expect(await pins.read(OWNER)).toMatchObject({ digests: new Map(), complete: false, tampered: true });
    // Nor does that stay with another agent, who has none.
    expect(await pins.read({ ...OWNER, agent: 'other' })).toMatchObject({ digests: new Map(), tampered: false });
  });

  it('is made once of the classes of an upstream, and anew with each change, also of another process', async () => {
    const [classes, other] = [classesOf(), classesOf()];
    const said = {
      class: 'deny',
      reason: 'no',
      set_by: 'ada',
      set_at: '2026-03-02T10:00:00.000Z',
      definition_sha256: null,
    };
    const first = await classes.read('acme', 'tools');
    expect(first.tools.size).toBe(0);
    const tools = new Map([['drop', said as never]]);
    expect(await other.replace('acme', 'tools', first.found, { generation: 1, tools })).toBe(true);
    const second = await classes.read('acme', 'tools');
    expect([...second.tools.keys()]).toEqual(['drop']);
    expect((await classes.read('acme', 'tools')).tools).toBe(second.tools);
    expect(first.tools.size).toBe(0);
  });
});
