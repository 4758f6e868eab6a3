// Writes the state machines, from the code, into docs/ARCHITECTURE.md. With --check it changes nothing, and fails where the page differs.
import { updateDocs } from './docs-section.js';
import { loadSource } from './load-source.js';

const MACHINES = {
	'client-connection': ['packages/client/src/connection/connection-machine.ts', 'connectionMachine'],
	'event-consumer': ['packages/client/src/events/consume/consumer-machine.ts', 'consumerMachine'],
	'event-outbox': ['packages/client/src/events/produce/outbox-machine.ts', 'outboxMachine'],
	'sidecar-lifecycle': ['packages/sidecar/src/lifecycle/lifecycle-machine.ts', 'lifecycleMachine'],
	'watch-loop': ['packages/discovery/src/watch/watch-loop.ts', 'watchMachine'],
	registration: ['packages/discovery/src/registration/registration-machine.ts', 'registrationMachine'],
	'registration-sync': ['packages/discovery/src/registration/registration-sync.ts', 'registrationSyncMachine'],
	forward: ['packages/events/src/forward/forward-machine.ts', 'forwardMachine'],
	'group-event': ['packages/events/src/groups/group-event-machine.ts', 'groupEventMachine'],
	'cache-entry': ['packages/discovery/src/cache/cache-entry-machine.ts', 'cacheEntryMachine'],
};

const code = await loadSource(
	[
		`export { printMachine } from './packages/protocol/src/internal/machine.ts';`,
		...Object.values(MACHINES).map(([path, name]) => `export { ${name} } from './${path}';`),
	].join('\n'),
);
for (const [marker, [, name]] of Object.entries(MACHINES)) {
	updateDocs(`machine: ${marker}`, code.printMachine(code[name]), 'docs/ARCHITECTURE.md', 'npm run tables states');
}
