import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { issuedSvid } from '../../contracts/identity.js';
import { type AgentClient, createHttp } from './agent.js';
import { certificateRequest } from './certificate-request.js';
import type { TestStack } from './stack.js';

const read = (file: string): string => readFileSync(file, 'utf8');

/** An agent whose certificate identity gave it, so that identity knows it. `cli` types a command at this stack. */
export async function enrolledAgent(
  stack: TestStack,
  cli: (...args: string[]) => Promise<string>,
  name: string,
): Promise<AgentClient> {
  const { console_workload: workload, identity: at, proxy } = stack.development;
  const identity = createHttp(at.url, { ca: read(proxy.ca), cert: read(workload.cert), key: read(workload.key) });
  try {
    const tokenFile = join(stack.stateDir, `token-of-${name}`);
    await cli('agents', 'enrol', name, '--token-file', tokenFile);
    const { pem, keyPem } = await certificateRequest();
    const certified = await identity.request('POST', '/enrollments/svid', {
      headers: { authorization: `Bearer ${read(tokenFile).trim()}` },
      body: { csr_pem: pem },
    });
    return stack.stranger({ cert: issuedSvid.parse(certified.body).cert_pem, key: keyPem });
  } finally {
    await identity.close();
  }
}
