import { parseArgs } from 'node:util';
import { errorText } from '../../domain/errors.js';
import { startDemoUpstream } from './server.js';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '9000' },
    host: { type: 'string', default: '127.0.0.1' },
    data: { type: 'string' },
    'allow-host': { type: 'string', multiple: true, default: [] },
    json: { type: 'boolean', default: false },
  },
});

if (values.data === undefined || !/^\d{1,5}$/.test(values.port)) {
  process.stderr.write(
    'usage: demo-upstream --data DIR [--port 9000] [--host ADDRESS] [--allow-host NAME]... [--json]\n',
  );
  process.exitCode = 2;
} else {
  try {
    const upstream = await startDemoUpstream({
      dataDir: values.data,
      port: Number(values.port),
      host: values.host,
      allowedHosts: values['allow-host'],
      sse: !values.json,
    });
    process.stdout.write(`demo upstream: ${upstream.url}\n`);
    const stop = (): void => void upstream.close();
    process.once('SIGTERM', stop);
    process.once('SIGINT', stop);
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = 1;
  }
}
