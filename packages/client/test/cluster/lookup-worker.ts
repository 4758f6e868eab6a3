import { LookupClient } from './lookup-client.ts';
import {
	addAgreements,
	addTallies,
	type LookupCommand,
	type LookupReply,
	type LookupSettings,
} from './lookup-messages.ts';

// A process of clients. It ends with its channel: no clients are left behind when the test is gone.
const settings = JSON.parse(process.argv[2] ?? '') as LookupSettings;
let expected: Readonly<Record<string, string>> = {};

process.once('disconnect', () => process.exit());
try {
	const { path, services } = settings;
	const starting = Array.from({ length: settings.clients }, () => LookupClient.start(path, services));
	const clients = await Promise.all(starting);
	process.on('message', (command: LookupCommand) => answer(obey(command, clients)));
	answer({ kind: 'ready' });
} catch (error) {
	answer({ kind: 'failed', why: String((error as Error).stack ?? error) });
}

function answer(reply: LookupReply): void {
	process.send?.(reply);
}

function obey(command: LookupCommand, clients: readonly LookupClient[]): LookupReply {
	switch (command.kind) {
		case 'tally':
			return { kind: 'tally', ...addTallies(clients.map((client) => client.tally())) };
		case 'expect':
			expected = command.expected;
			return { kind: 'expect' };
		case 'agreement':
			return { kind: 'agreement', ...addAgreements(clients.map((client) => client.agreement(expected))) };
	}
}
