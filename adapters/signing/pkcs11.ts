import { type ChildProcess, fork } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { KeyStoreError, type StoredKey } from '../../domain/identity/guarded-key.js';
import type { KeyAlgorithm } from '../../domain/identity/held-key.js';
import type { UpstreamFault } from '../../domain/upstream/upstream-circuit.js';
import { compiledScript } from '../threads/threads.js';
import type { Pkcs11Reference } from '../../domain/identity/key-reference.js';
import { changingFile } from './changing-file.js';
import type { Pkcs11Answer, Pkcs11Fault, Pkcs11Question } from './pkcs11-messages.js';

type Place = Pick<Pkcs11Reference, 'module' | 'token' | 'pinFile'>;

export interface Pkcs11Token {
  /** The key of this label. Throws `KeyStoreError`. */
  key(object: string): Promise<StoredKey>;
  /** A new key under this label; the one that is there already where it is of this kind. */
  make(object: string, algorithm: KeyAlgorithm): Promise<StoredKey>;
  close(): void;
}

const FAULTS: Readonly<Record<Pkcs11Fault, UpstreamFault>> = {
  pin_refused: 'refused',
  absent: 'refused',
  ambiguous: 'refused',
  unfit: 'invalid_answer',
  failed: 'unreachable',
};

interface Waiting {
  answered(answer: Pkcs11Answer): void;
  ended(error: KeyStoreError): void;
}

/** A token, over a process of its own: one that hangs is ended after the limit, and one that ended is begun again with the next question. */
export function openPkcs11Token(place: Place, limitMs: number): Pkcs11Token {
  const pin = changingFile(place.pinFile);
  let process_: ChildProcess | null = null;
  let next = 1;
  const waiting = new Map<number, Waiting>();
  /** A PIN that was refused is not tried again: a token locks itself after a few. */
  let refusedPin: string | null = null;

  function ended(child: ChildProcess, fault: UpstreamFault, message: string): void {
    if (process_ !== child) return;
    process_ = null;
    child.kill('SIGKILL');
    const error = new KeyStoreError(fault, message);
    for (const one of waiting.values()) one.ended(error);
    waiting.clear();
  }
  function begun(): ChildProcess {
    if (process_) return process_;
    const child = fork(
      fileURLToPath(compiledScript(new URL('./pkcs11-process.js', import.meta.url))),
      [place.module, place.token, place.pinFile],
      {
        execArgv: [],
        // Of what Gate knows, the library of somebody else is told nothing.
        env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:GATE_|NODE_OPTIONS$)/.test(name))),
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      },
    );
    child.on('message', (answer: Pkcs11Answer) => {
      const one = waiting.get(answer.id);
      waiting.delete(answer.id);
      one?.answered(answer);
    });
    child.on('error', (error) => ended(child, 'unreachable', error.message));
    child.on('exit', () => ended(child, 'unreachable', 'the process of the token ended'));
    // A command is over when it has its answer.
    child.unref();
    child.channel?.unref();
    process_ = child;
    return child;
  }

  async function ask(question: Omit<Pkcs11Question, 'id'>): Promise<Pkcs11Answer> {
    const { version } = await pin().catch((error: unknown) => {
      throw new KeyStoreError('no_credentials', 'the file of the PIN cannot be read', { cause: error });
    });
    if (refusedPin === version)
      throw new KeyStoreError(
        'no_credentials',
        'the token refused this PIN, which is not tried again: put another one into its file',
      );
    const id = next++;
    const child = begun();
    const answer = await new Promise<Pkcs11Answer>((resolve, reject) => {
      const timer = setTimeout(() => ended(child, 'timeout', `no answer within ${limitMs} ms`), limitMs);
      waiting.set(id, {
        answered(found) {
          clearTimeout(timer);
          resolve(found);
        },
        ended(error) {
          clearTimeout(timer);
          reject(error);
        },
      });
      child.send({ ...question, id }, (error) => {
        if (error) ended(child, 'unreachable', 'the process of the token ended');
      });
    });
    if (!('fault' in answer)) return answer;
    if (answer.fault === 'pin_refused') refusedPin = version;
    if (answer.fault === 'failed' || answer.fault === 'pin_refused')
      ended(child, 'unreachable', 'the process of the token is begun anew');
    throw new KeyStoreError(FAULTS[answer.fault], answer.message);
  }

  function keyOf(object: string, answer: Pkcs11Answer): StoredKey {
    if (!('publicKey' in answer)) throw new KeyStoreError('invalid_answer', 'no public key came back');
    return {
      algorithm: answer.algorithm,
      publicKey: createPublicKey({ key: Buffer.from(answer.publicKey, 'base64'), format: 'der', type: 'spki' }),
      async sign(bytes) {
        const signed = await ask({ ask: 'sign', object, bytes: Buffer.from(bytes).toString('base64') } as never);
        if (!('signature' in signed)) throw new KeyStoreError('invalid_answer', 'no signature came back');
        return Buffer.from(signed.signature, 'base64');
      },
    };
  }
  return {
    key: async (object) => keyOf(object, await ask({ ask: 'find', object })),
    make: async (object, algorithm) => keyOf(object, await ask({ ask: 'make', object, algorithm } as never)),
    close() {
      if (process_) ended(process_, 'unreachable', 'the token was closed');
    },
  };
}
