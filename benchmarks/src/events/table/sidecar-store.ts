import { BackendSource, createLocalBackend } from '@spock/discovery';
import { EventService, type Files, NodeOwner } from '@spock/events';
import { createSidecar, EventGuest, type EventGuestOptions } from '@spock/sidecar';

/** What the log of the store may take: everything that a run sends is deleted again by size. */
const LIMITS = { bytesMax: 2 ** 30, retentionBytes: 64 * 2 ** 20, freeBytesMin: 0 };

/** A sidecar at a TCP port whose disk is given; the store of another sidecar. */
export async function serveSidecarStore(directory: string, files: Files, port: number): Promise<void> {
	const backend = await createLocalBackend();
	const sidecar = createSidecar({
		source: new BackendSource({ backend }),
		listen: [{ address: { host: '127.0.0.1', port } }],
		events: {
			create: (context) => {
				const { clock, random } = context;
				const serve: EventGuestOptions['serve'] = (lost) =>
					new EventService({ directory, files, owner: new NodeOwner(directory), clock, random, limits: LIMITS, lost });
				return new EventGuest(context, {
					...{ serve, directory, drainMs: 0 },
					openFailed: (error) => void process.stderr.write(`the store: ${error.message}\n`),
				});
			},
		},
	});
	await sidecar.start();
}
