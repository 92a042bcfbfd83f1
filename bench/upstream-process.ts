import { type DemoUpstream, startDemoUpstream } from '../scripts/demo-upstream/server.js';
import { answerQuestions } from './child.js';

/** The tools behind Gate, in a process of their own as in deployment. */
const answers = {
  async start({ dataDir }: { dataDir: string }): Promise<string> {
    upstream = await startDemoUpstream({ dataDir, port: 0 });
    return upstream.url;
  },
};
export type UpstreamQuestions = typeof answers;

let upstream: DemoUpstream | undefined;

answerQuestions(answers, async () => {
  await upstream?.close();
});
