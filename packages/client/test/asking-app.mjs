// An app for the tests: each line on stdin is a service to look up, each answer a line on stdout. The argument has options of its client.
import { createInterface } from 'node:readline';

import { connect } from '@spock/client';

const diplomat = await connect(JSON.parse(process.argv[2] ?? '{}'));
process.stdout.write('ready\n');
for await (const service of createInterface({ input: process.stdin })) {
	const answer = await diplomat.getService(service).catch(({ code }) => ({ code }));
	process.stdout.write(`${JSON.stringify({ ...answer, at: Date.now() })}\n`);
}
