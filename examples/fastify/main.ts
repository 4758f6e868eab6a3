// A Fastify app that starts when its sidecar is there, registers itself, and at Ctrl-C or SIGTERM leaves in the right order.
//   npx --no-install pnpm --filter @spock/example-fastify run build && node examples/fastify/dist/main.js
// From Node 22.18 on, which reads TypeScript, `node examples/fastify/main.ts` does as well.
import { waiter } from './app.ts';

const host = '127.0.0.1';
// In a pod leave `host` out: the sidecar knows what to advertise.
const app = waiter({ register: { service: 'waiter', host } }, { logger: true });
process.once('SIGINT', () => app.close());
process.once('SIGTERM', () => app.close());
try {
	await app.listen({ host, port: Number(process.env['PORT'] ?? 3000) });
} catch (error) {
	app.log.fatal(error);
	await app.close();
	process.exitCode = 1;
}
