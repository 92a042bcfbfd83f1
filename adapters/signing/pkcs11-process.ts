import koffi from 'koffi';
import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { KeyAlgorithm } from '../../domain/identity/held-key.js';
import type { Pkcs11Answer, Pkcs11Fault, Pkcs11Question } from './pkcs11-messages.js';

/**
 * A process of its own for the library of a token's maker (PKCS #11 v2.40, https://docs.oasis-open.org/pkcs11/pkcs11-base/v2.40/): it may hang or
 * crash, and then this process is ended and another one begun. It alone reads the PIN. It ends with the process that began it.
 */
const [, , MODULE = '', TOKEN = '', PIN_FILE = ''] = process.argv;

const CKA = {
  CLASS: 0x0,
  TOKEN: 0x1,
  PRIVATE: 0x2,
  LABEL: 0x3,
  ID: 0x102,
  SENSITIVE: 0x103,
  SIGN: 0x108,
  VERIFY: 0x10a,
  EXTRACTABLE: 0x162,
  LOCAL: 0x163,
  NEVER_EXTRACTABLE: 0x164,
  ALWAYS_SENSITIVE: 0x165,
  EC_PARAMS: 0x180,
  EC_POINT: 0x181,
} as const;
const CKO = { PUBLIC_KEY: 2, PRIVATE_KEY: 3 } as const;
const CKR = { PIN_INCORRECT: 0xa0, PIN_LOCKED: 0xa4, USER_ALREADY_LOGGED_IN: 0x100 } as const;
const CKU_USER = 1;
/** A session that also makes keys. */
const SESSION = { READ: 0x4, WRITE: 0x6 } as const;
const TOKEN_LABEL_AT = [0, 32] as const;
const TOKEN_INFO_BYTES = 512;

interface Curve {
  /** DER of its object identifier. */
  readonly params: Buffer;
  readonly generate: number;
  readonly sign: number;
  /** The frame of a public key (SPKI DER) before its point. */
  readonly spki: Buffer;
  readonly pointBytes: number;
}
const CURVES: Readonly<Record<KeyAlgorithm, Curve>> = {
  Ed25519: {
    params: Buffer.from('06032b6570', 'hex'),
    generate: 0x1055,
    sign: 0x1057,
    spki: Buffer.from('302a300506032b6570032100', 'hex'),
    pointBytes: 32,
  },
  ES256: {
    params: Buffer.from('06082a8648ce3d030107', 'hex'),
    generate: 0x1040,
    sign: 0x1041,
    spki: Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex'),
    pointBytes: 65,
  },
};
/** The same curve by its name, as some libraries have it. */
const EDWARDS_NAME = Buffer.from('130c656477617264733235353139', 'hex');

class Refused extends Error {
  constructor(
    readonly fault: Pkcs11Fault,
    message: string,
  ) {
    super(message);
  }
}

type Handle = number | bigint;
type Attribute = { readonly type: number; readonly value: Buffer; readonly length: number };

const library = koffi.load(MODULE);
koffi.struct('CK_ATTRIBUTE', { type: 'ulong', value: 'void *', length: 'ulong' });
koffi.struct('CK_MECHANISM', { mechanism: 'ulong', parameter: 'void *', length: 'ulong' });
const call = <Arguments extends readonly unknown[]>(name: string, parameters: string) => {
  const found = library.func(`ulong ${name}(${parameters})`);
  return (...given: Arguments): number => Number(found(...given));
};
const C = {
  Initialize: call<[null]>('C_Initialize', 'void *arguments'),
  GetSlotList: call<[number, BigUint64Array | null, number[]]>(
    'C_GetSlotList',
    'uint8 present, void *slots, _Inout_ ulong *count',
  ),
  GetTokenInfo: call<[bigint, Buffer]>('C_GetTokenInfo', 'ulong slot, void *info'),
  OpenSession: call<[bigint, number, null, null, Handle[]]>(
    'C_OpenSession',
    'ulong slot, ulong flags, void *application, void *notify, _Out_ ulong *session',
  ),
  Login: call<[Handle, number, Buffer, number]>('C_Login', 'ulong session, ulong user, void *pin, ulong length'),
  FindObjectsInit: call<[Handle, Attribute[], number]>(
    'C_FindObjectsInit',
    'ulong session, CK_ATTRIBUTE *template, ulong count',
  ),
  FindObjects: call<[Handle, BigUint64Array, number, number[]]>(
    'C_FindObjects',
    'ulong session, void *objects, ulong most, _Out_ ulong *count',
  ),
  FindObjectsFinal: call<[Handle]>('C_FindObjectsFinal', 'ulong session'),
  GetAttributeValue: call<[Handle, bigint, Attribute[], number]>(
    'C_GetAttributeValue',
    'ulong session, ulong object, _Inout_ CK_ATTRIBUTE *template, ulong count',
  ),
  DestroyObject: call<[Handle, bigint]>('C_DestroyObject', 'ulong session, ulong object'),
  GenerateKeyPair: call<[Handle, object, Attribute[], number, Attribute[], number, Handle[], Handle[]]>(
    'C_GenerateKeyPair',
    'ulong session, CK_MECHANISM *mechanism, CK_ATTRIBUTE *public, ulong publics, CK_ATTRIBUTE *private, ulong privates, _Out_ ulong *publicKey, _Out_ ulong *privateKey',
  ),
  SignInit: call<[Handle, object, bigint]>('C_SignInit', 'ulong session, CK_MECHANISM *mechanism, ulong key'),
  Sign: call<[Handle, Buffer, number, Buffer, number[]]>(
    'C_Sign',
    'ulong session, void *data, ulong length, void *signature, _Inout_ ulong *signatureLength',
  ),
};

/** `CKR_…` of the standard, as it numbers them. */
function done(what: string, code: number): void {
  if (code === CKR.PIN_INCORRECT || code === CKR.PIN_LOCKED)
    throw new Refused('pin_refused', `the token does not take the PIN (${what}: 0x${code.toString(16)})`);
  if (code !== 0) throw new Refused('failed', `${what} answered 0x${code.toString(16)}`);
}

const attribute = (type: number, value: Buffer): Attribute => ({ type, value, length: value.length });
const yes = (type: number) => attribute(type, Buffer.from([1]));
const no = (type: number) => attribute(type, Buffer.from([0]));
const mechanism = (of: number) => ({ mechanism: of, parameter: null, length: 0 });
function number(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function slotOf(token: string): bigint {
  const count = [0];
  done('C_GetSlotList', C.GetSlotList(1, null, count));
  const slots = new BigUint64Array(Number(count[0]));
  done('C_GetSlotList', C.GetSlotList(1, slots, count));
  const named = [...slots].filter((slot) => {
    const info = Buffer.alloc(TOKEN_INFO_BYTES);
    return C.GetTokenInfo(slot, info) === 0 && info.toString('utf8', ...TOKEN_LABEL_AT).trimEnd() === token;
  });
  if (named.length !== 1) throw new Refused('failed', `${named.length} tokens are labelled ${token}`);
  return named[0] as bigint;
}

let session: Handle = 0;
function begin(): void {
  done('C_Initialize', C.Initialize(null));
  const slot = slotOf(TOKEN);
  const opened: Handle[] = [0];
  done('C_OpenSession', C.OpenSession(slot, SESSION.WRITE, null, null, opened));
  session = opened[0] as Handle;
  const pin = Buffer.from(readFileSync(PIN_FILE, 'utf8').trim());
  const code = C.Login(session, CKU_USER, pin, pin.length);
  pin.fill(0);
  if (code !== CKR.USER_ALREADY_LOGGED_IN) done('C_Login', code);
}

function objects(kind: number, label: string): readonly bigint[] {
  const wanted = [attribute(CKA.CLASS, number(kind)), attribute(CKA.LABEL, Buffer.from(label))];
  done('C_FindObjectsInit', C.FindObjectsInit(session, wanted, wanted.length));
  const [found, count] = [new BigUint64Array(2), [0]];
  const code = C.FindObjects(session, found, found.length, count);
  done('C_FindObjectsFinal', C.FindObjectsFinal(session));
  done('C_FindObjects', code);
  return [...found.subarray(0, Number(count[0]))];
}
function only(kind: number, label: string): bigint | null {
  const found = objects(kind, label);
  if (found.length > 1) throw new Refused('ambiguous', `more than one object is labelled ${label}`);
  return found[0] ?? null;
}

function valueOf(object: bigint, type: number): Buffer {
  const value = Buffer.alloc(256);
  const asked = [{ type, value, length: value.length }];
  done('C_GetAttributeValue', C.GetAttributeValue(session, object, asked, 1));
  return value.subarray(0, Number(asked[0]?.length));
}

interface Pair {
  readonly privateKey: bigint;
  readonly algorithm: KeyAlgorithm;
  readonly publicKey: KeyObject;
}
function pairOf(label: string): Pair | null {
  const [publicKey, privateKey] = [only(CKO.PUBLIC_KEY, label), only(CKO.PRIVATE_KEY, label)];
  if (publicKey === null || privateKey === null) return null;
  const params = valueOf(publicKey, CKA.EC_PARAMS);
  const algorithm = params.equals(EDWARDS_NAME)
    ? 'Ed25519'
    : (Object.keys(CURVES) as KeyAlgorithm[]).find((one) => CURVES[one].params.equals(params));
  if (algorithm === undefined) throw new Refused('unfit', `${label} is neither Ed25519 nor ECDSA P-256`);
  const { spki, pointBytes } = CURVES[algorithm];
  const point = valueOf(publicKey, CKA.EC_POINT);
  // In an OCTET STRING, as the standard has it, or as it is.
  const bare = point.length === pointBytes + 2 && point[0] === 0x04 ? point.subarray(2) : point;
  if (bare.length !== pointBytes) throw new Refused('unfit', `${label} has a point of ${point.length} bytes`);
  return {
    privateKey,
    algorithm,
    publicKey: createPublicKey({ key: Buffer.concat([spki, bare]), format: 'der', type: 'spki' }),
  };
}

/** One that came from elsewhere may be there still, and one that could leave may have left. */
function assertMadeThere({ privateKey }: Pair, label: string): void {
  for (const type of [CKA.LOCAL, CKA.ALWAYS_SENSITIVE, CKA.NEVER_EXTRACTABLE]) {
    const value = Buffer.alloc(1);
    const code = C.GetAttributeValue(session, privateKey, [attribute(type, value)], 1);
    if (code !== 0 || value[0] !== 1)
      throw new Refused(
        'ambiguous',
        `${label} is there already, and the token does not say that it was made there and never could leave`,
      );
  }
}

function made(label: string, algorithm: KeyAlgorithm): Pair {
  const known = pairOf(label);
  if (known?.algorithm === algorithm) {
    assertMadeThere(known, label);
    return known;
  }
  if (known) throw new Refused('unfit', `${label} is there already, and is ${known.algorithm}`);
  if (only(CKO.PRIVATE_KEY, label) !== null)
    throw new Refused('ambiguous', `${label} has a private half alone: nobody knows what it signed; remove it`);
  // The process that made it ended before its private half was there: it is half of nothing.
  const left = only(CKO.PUBLIC_KEY, label);
  if (left !== null) done('C_DestroyObject', C.DestroyObject(session, left));
  const { params, generate } = CURVES[algorithm];
  const name = Buffer.from(label);
  const common = [attribute(CKA.LABEL, name), attribute(CKA.ID, name), yes(CKA.TOKEN)];
  const publics = [...common, yes(CKA.VERIFY), attribute(CKA.EC_PARAMS, params)];
  const privates = [...common, yes(CKA.PRIVATE), yes(CKA.SENSITIVE), no(CKA.EXTRACTABLE), yes(CKA.SIGN)];
  done(
    'C_GenerateKeyPair',
    C.GenerateKeyPair(session, mechanism(generate), publics, publics.length, privates, privates.length, [0], [0]),
  );
  const pair = pairOf(label);
  if (!pair) throw new Refused('failed', `${label} is not there after it was made`);
  return pair;
}

const pairs = new Map<string, Pair>();
function pairNamed(label: string): Pair {
  const pair = pairs.get(label) ?? pairOf(label);
  if (!pair) throw new Refused('absent', `the token has no key ${label} with both halves`);
  pairs.set(label, pair);
  return pair;
}

function signed(label: string, bytes: Buffer): Buffer {
  const { privateKey, algorithm } = pairNamed(label);
  const data = algorithm === 'ES256' ? hash('sha256', bytes, 'buffer') : bytes;
  done('C_SignInit', C.SignInit(session, mechanism(CURVES[algorithm].sign), privateKey));
  const [signature, length] = [Buffer.alloc(256), [256]];
  done('C_Sign', C.Sign(session, data, data.length, signature, length));
  return signature.subarray(0, Number(length[0]));
}

function answerTo(question: Pkcs11Question): Pkcs11Answer {
  const { id, object } = question;
  if (question.ask === 'sign')
    return { id, signature: signed(object, Buffer.from(question.bytes, 'base64')).toString('base64') };
  const { algorithm, publicKey } = question.ask === 'make' ? made(object, question.algorithm) : pairNamed(object);
  return { id, algorithm, publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64') };
}

const failure = (id: number, error: unknown): Pkcs11Answer =>
  error instanceof Refused
    ? { id, fault: error.fault, message: error.message }
    : { id, fault: 'failed', message: error instanceof Error ? error.message : 'the library failed' };

/** After these nobody knows what holds of the session. */
const BROKEN: readonly Pkcs11Fault[] = ['failed', 'pin_refused'];

process.on('disconnect', () => process.exit(0));
let began = false;
process.on('message', (question: Pkcs11Question) => {
  let answer: Pkcs11Answer;
  try {
    if (!began) begin();
    began = true;
    answer = answerTo(question);
  } catch (error) {
    answer = failure(question.id, error);
  }
  process.send?.(answer, () => {
    if ('fault' in answer && BROKEN.includes(answer.fault)) process.exit(1);
  });
});
