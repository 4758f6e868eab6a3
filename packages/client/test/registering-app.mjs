// An app for the tests: registers one instance and stays. A line on stdin is a command; each state is a line on stdout.
// The second argument, if any, has options of its client.
import { createInterface } from 'node:readline';

import { connect } from '@spock/client';

const diplomat = await connect(JSON.parse(process.argv[3] ?? '{}'));
const data = JSON.parse(process.argv[2] ?? '{}');
const registration = await diplomat.register(data);
process.stdout.write(`${registration.id} ${registration.instance} ${registration.state}\n`);
for await (const line of createInterface({ input: process.stdin })) {
	const [command, ...words] = line.split(' ');
	if (command === 'report') await registration.report(words[0], words.slice(1).join(' '));
	if (command === 'register') await diplomat.register({ ...data, id: words[0] });
	if (command === 'drain') await diplomat.drain();
	process.stdout.write(`${line}: ${registration.state}\n`);
}
