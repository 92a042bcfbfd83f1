import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { parseCheckpoint, signCheckpoint } from './checkpoint.js';
import { EMPTY_ROOT } from './merkle.js';
import {
  cosign,
  formatVkey,
  namedWitnesses,
  noteKey,
  parseNote,
  parseVkey,
  signNote,
  verifiedSignatures,
} from './note.js';

const pair = () => generateKeyPairSync('ed25519');
const EXAMPLE_VKEY = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k';
const EXAMPLE_NOTE =
  'This is an example message.\n\n\u2014 example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n';

describe('signed notes (C2SP signed-note)', () => {
  it('reads and verifies the example of C2SP signed-note', () => {
    const key = parseVkey(EXAMPLE_VKEY);
    expect(key).toMatchObject({ name: 'example.com/foo', id: '530d903a', type: 'ed25519' });
    expect(formatVkey(key)).toBe(EXAMPLE_VKEY);
    expect(verifiedSignatures(parseNote(EXAMPLE_NOTE), [key])).toHaveLength(1);
  });

  it('signs the bytes that others sign: RFC 8032 test 1 key, fixed note', async () => {
    const seed = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';
    const key = createPrivateKey({
      key: Buffer.from(`302e020100300506032b657004220420${seed}`, 'hex'),
      format: 'der',
      type: 'pkcs8',
    });
    const note = await signNote('one line\n', 'log.example', key);
    const vkey = noteKey('log.example', createPublicKey(key));
    expect(verifiedSignatures(parseNote(note), [vkey]).map(({ time }) => time)).toEqual([null]);
    expect(await signNote('one line\n', 'log.example', key)).toBe(note);
  });

  it('ignores keys it does not know and refuses the note when a known one does not hold', async () => {
    const { privateKey, publicKey } = pair();
    const key = noteKey('log', publicKey);
    const note = await signNote('text\n', 'log', privateKey);
    expect(verifiedSignatures(parseNote(note), [noteKey('log', pair().publicKey)])).toEqual([]);
    expect(() => verifiedSignatures(parseNote(note.replace('text', 'test')), [key])).toThrow('log does not hold');
  });

  it('takes a cosignature with its time, and only with that time', () => {
    const witness = pair();
    const key = noteKey('witness.example/w1', witness.publicKey, 'cosignature');
    expect(parseVkey(formatVkey(key))).toMatchObject({ type: 'cosignature', id: key.id });
    const text = 'log\n3\nAAAA\n';
    const line = cosign(text, key.name, witness.privateKey, 1_679_315_147);
    expect(verifiedSignatures(parseNote(`${text}\n${line}\n`), [key])).toEqual([{ key, line, time: 1_679_315_147 }]);
    const bytes = Buffer.from(line.split(' ')[2] as string, 'base64');
    bytes[11] = (bytes[11] as number) ^ 1;
    const other = `${line.split(' ').slice(0, 2).join(' ')} ${bytes.toString('base64')}`;
    expect(() => verifiedSignatures(parseNote(`${text}\n${other}\n`), [key])).toThrow('does not hold');
  });

  it.each([
    ['no signatures', 'text\n'],
    ['no last line feed', EXAMPLE_NOTE.slice(0, -1)],
    ['a control character', EXAMPLE_NOTE.replace('example message', 'exa\tmple')],
    ['a hyphen for the dash', EXAMPLE_NOTE.replace('\u2014', '-')],
    ['signature that is no base64', EXAMPLE_NOTE.replace('Uw2Q', 'Uw2?')],
    ['base64 written another way', EXAMPLE_NOTE.replace('eyaQM=', 'eyaQN=')],
    ['a name with a plus', EXAMPLE_NOTE.replace('com/foo', 'com+foo')],
    ['too many signatures', `text\n\n${`${EXAMPLE_NOTE.split('\n')[2]}\n`.repeat(65)}`],
    ['too many bytes', `${'x'.repeat(70_000)}${EXAMPLE_NOTE}`],
  ])('refuses a note with %s', (_what, note) => {
    expect(() => parseNote(note)).toThrow();
  });

  it.each([
    ['', 'not a verifier key'],
    ['name', 'not a verifier key'],
    ['-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----', 'but a private key'],
    [EXAMPLE_VKEY.replace('530d', '530e'), 'the key id'],
    [EXAMPLE_VKEY.replace('+Ae', '+Be'), 'signature type 5'],
    [EXAMPLE_VKEY.replace('U2k', 'U2'), 'not a verifier key'],
    [EXAMPLE_VKEY.replace('example.com/foo', 'a b'), 'not a key name'],
  ])('refuses the verifier key %p', (text, why) => {
    expect(() => parseVkey(text)).toThrow(why);
    if (text.includes('c2VjcmV0')) expect(() => parseVkey(text)).not.toThrow(/c2VjcmV0/);
  });

  it('a key for notes is an Ed25519 public key', () => {
    expect(() => noteKey('log', generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey)).toThrow(
      'not an Ed25519',
    );
    expect(() => noteKey('log', pair().privateKey)).toThrow('not an Ed25519 public key');
  });
});

describe('witnesses that a note names', () => {
  it('are those beside its author whose lines say a time', async () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const text = 'gate.test/log\n1\nAAAA\n';
    const note = await signNote(text, 'gate.test/log', privateKey);
    const other = (await signNote(text, 'somebody', privateKey)).split('\n\n')[1] ?? '';
    const whole = `${note}${other}${cosign(text, 'witness.test/w1', privateKey, 1_700_000_000)}\n`;
    expect(namedWitnesses(parseNote(whole), 'gate.test/log')).toEqual([
      { name: 'witness.test/w1', time: 1_700_000_000 },
    ]);
    expect(namedWitnesses(parseNote(note), 'gate.test/log')).toEqual([]);
  });
});

describe('checkpoints (C2SP tlog-checkpoint)', () => {
  const { privateKey, publicKey } = pair();
  const head = { origin: 'gate.local/ledger', size: 0, root: EMPTY_ROOT };

  it('is three lines under the signature of the log', async () => {
    const text = await signCheckpoint(head, privateKey);
    expect(text.split('\n').slice(0, 4)).toEqual([
      'gate.local/ledger',
      '0',
      '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=',
      '',
    ]);
    const read = parseCheckpoint(text);
    expect(read).toMatchObject(head);
    expect(verifiedSignatures(read.note, [noteKey(head.origin, publicKey)])).toHaveLength(1);
  });

  it.each([
    ['a leading zero', (text: string) => text.replace('\n0\n', '\n00\n')],
    ['a sign', (text: string) => text.replace('\n0\n', '\n-1\n')],
    ['a size past 2^53', (text: string) => text.replace('\n0\n', '\n9007199254740993\n')],
    ['a short root', (text: string) => text.replace('47DEQpj8', '')],
    ['an extension line', (text: string) => text.replace('\n\n', '\nmore\n\n')],
    ['no origin', (text: string) => text.replace('gate.local/ledger\n', '\n')],
  ])('refuses %s', async (_what, change) => {
    const text = await signCheckpoint(head, privateKey);
    expect(() => parseCheckpoint(change(text))).toThrow();
  });
});
