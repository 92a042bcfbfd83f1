import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../test/support/waiting.js';
import { serveWorkloadApi, type WorkloadApi, type WorkloadState } from './server.js';

const bytes = (value: Buffer): Buffer => value;
const SVID = { spiffe: 'spiffe://gate.local/a', certificate: Buffer.from('CERT'), key: Buffer.from('KEY') };

describe('the Workload API on a socket', () => {
  let folder: string;
  let socket: string;
  let api: WorkloadApi;
  let client: Client;
  let state: WorkloadState;
  const listeners = new Set<() => void>();
  const source = {
    now: () => state,
    onChanged(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const change = (over: Partial<WorkloadState>): void => {
    state = { ...state, ...over };
    for (const listener of listeners) listener();
  };
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'wl-'));
    socket = join(folder, 's');
    state = { trustDomain: 'gate.local', svid: SVID, authorities: Buffer.from('CA'), tokenKeys: null };
    listeners.clear();
    api = await serveWorkloadApi({ socket, source });
    client = new Client(`unix:${socket}`, credentials.createInsecure());
  });
  afterEach(async () => {
    client.close();
    await api.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const withHeader = (value?: string): Metadata => {
    const metadata = new Metadata();
    if (value !== undefined) metadata.set('workload.spiffe.io', value);
    return metadata;
  };
  /** A stream, what it has said, and how it ended. */
  const open = (name: string, metadata = withHeader('true')) => {
    const said: Buffer[] = [];
    const ends: ServiceError[] = [];
    const call = client.makeServerStreamRequest(`/SpiffeWorkloadAPI/${name}`, bytes, bytes, Buffer.alloc(0), metadata);
    call.on('data', (message: Buffer) => said.push(message));
    call.on('error', (error: ServiceError) => ends.push(error));
    return { call, said, ends };
  };
  const asked = (name: string, metadata: Metadata): Promise<ServiceError | null> =>
    new Promise((resolve) => {
      client.makeUnaryRequest(`/SpiffeWorkloadAPI/${name}`, bytes, bytes, Buffer.alloc(0), metadata, resolve);
    });

  it('is its owner’s alone', () => {
    expect(statSync(socket).mode & 0o777).toBe(0o600);
  });

  it('gives the certificate, its key and what is trusted, as the standard numbers them', async () => {
    const { said } = open('FetchX509SVID');
    await eventually('it is given', () => said.length === 1);
    const field = (number: number, value: Buffer | string) => {
      const content = Buffer.from(value as string);
      return Buffer.concat([Buffer.of(number * 8 + 2, content.length), content]);
    };
    const svid = Buffer.concat([
      field(1, SVID.spiffe),
      field(2, SVID.certificate),
      field(3, SVID.key),
      field(4, state.authorities),
    ]);
    expect(said[0]).toEqual(field(1, svid));
    const bundles = open('FetchX509Bundles').said;
    await eventually('they are given', () => bundles.length === 1);
    expect(bundles[0]).toEqual(field(2, Buffer.concat([field(1, 'spiffe://gate.local'), field(2, 'CA')])));
  });

  it('gives another one on the same stream, and the same one no second time', async () => {
    const { said, ends } = open('FetchX509SVID');
    await eventually('the first one is given', () => said.length === 1);
    change({});
    change({ svid: { ...SVID, certificate: Buffer.from('NEXT') } });
    await eventually('the next one is given', () => said.length === 2);
    change({ authorities: Buffer.from('CACB') });
    await eventually('another CA is told of', () => said.length === 3);
    expect([said[1]?.includes('NEXT'), said[2]?.includes('CACB'), ends]).toEqual([true, true, []]);
  });

  it('ends a stream where there is no certificate any more, and forgets one that its client left', async () => {
    const { ends, said } = open('FetchX509SVID');
    await eventually('it is given', () => said.length === 1);
    change({ svid: null });
    await eventually('the stream ends', () => ends.length === 1);
    expect(ends[0]?.code).toBe(status.UNAVAILABLE);
    const bundles = open('FetchX509Bundles');
    await eventually('what is trusted is given still', () => bundles.said.length === 1);
    bundles.call.cancel();
    await eventually('nobody is told any more', () => listeners.size === 0);
  });

  it.each([undefined, 'false', 'True'])('is refused without its header: %s', async (value) => {
    const metadata = withHeader(value);
    for (const name of ['FetchX509SVID', 'FetchX509Bundles', 'FetchJWTBundles']) {
      const { ends, said } = open(name, metadata);
      await eventually(`${name} is refused`, () => ends.length === 1);
      expect([ends[0]?.code, said]).toEqual([status.INVALID_ARGUMENT, []]);
    }
    for (const name of ['FetchJWTSVID', 'ValidateJWTSVID'])
      expect((await asked(name, metadata))?.code).toBe(status.INVALID_ARGUMENT);
  });

  it('has no tokens, and tells the keys of tokens once they are known', async () => {
    for (const name of ['FetchJWTSVID', 'ValidateJWTSVID'])
      expect((await asked(name, withHeader('true')))?.code).toBe(status.UNIMPLEMENTED);
    const early = open('FetchJWTBundles');
    await eventually('nothing is known', () => early.ends.length === 1);
    expect(early.ends[0]?.code).toBe(status.UNAVAILABLE);
    change({ tokenKeys: '{"keys":[]}' });
    const { said } = open('FetchJWTBundles');
    await eventually('they are told', () => said.length === 1);
    expect(said[0]?.includes('{"keys":[]}')).toBe(true);
  });

  it('takes the place of a socket that a killed process left, and of nothing else', async () => {
    await expect(serveWorkloadApi({ socket, source })).rejects.toThrow('another process answers on it');
    const file = join(folder, 'file');
    writeFileSync(file, 'kept');
    await expect(serveWorkloadApi({ socket: file, source })).rejects.toThrow('is no socket');
    const left = join(folder, 'left');
    leave(left);
    chmodSync(left, 0o777);
    const second = await serveWorkloadApi({ socket: left, source });
    expect(statSync(left).mode & 0o777).toBe(0o600);
    await second.close();
    expect([existsSync(left), existsSync(file)]).toEqual([false, true]);
  });
});

/** A socket of which nobody hears any more, as a killed process leaves it. */
function leave(path: string): void {
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', script]);
  expect(existsSync(path)).toBe(true);
}
