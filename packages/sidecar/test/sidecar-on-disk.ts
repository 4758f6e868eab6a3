import { EventService, NodeFiles, NodeOwner } from '@spock/events';
import { createSidecar, type SidecarOptions } from '@spock/sidecar';
import { expect } from 'vitest';

import { EventGuest } from '../src/events/event-guest.ts';
import { FakeSource } from './fake-source.ts';

/** A sidecar whose events are on disk; `end` ends it at once. `listen`: its addresses beside the path. */
export async function sidecarOnDisk(
	path: string,
	directory: string,
	listen: SidecarOptions['listen'] = [],
): Promise<{ end(): Promise<void> }> {
	const sidecar = createSidecar({
		source: new FakeSource(),
		listen: [{ address: { path } }, ...listen],
		limits: { graceMs: 0, drainTimeoutMs: 0 },
		events: {
			create: (context) =>
				new EventGuest(context, {
					serve: () => {
						const [files, owner] = [new NodeFiles(), new NodeOwner(directory)];
						return new EventService({ directory, files, owner, clock: context.clock, random: Math.random });
					},
					directory,
					drainMs: 50,
					openFailed: (error) => expect.unreachable(error.message),
				}),
		},
	});
	await sidecar.start();
	return {
		async end() {
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
		},
	};
}
