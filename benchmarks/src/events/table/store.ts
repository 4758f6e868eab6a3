// The process of a store. Argument: a StorePlace as JSON. Ends with its standard input.
import { open } from 'node:fs/promises';
import { join } from 'node:path';

import { NodeFiles } from '@spock/events';
import { systemClock } from '@spock/protocol/internal';

import { ModelDisk } from '../model/model-disk.ts';
import { modelFiles } from '../model/model-files.ts';
import { type Persist, serveGrpcStore } from './grpc-store.ts';
import { serveSidecarStore } from './sidecar-store.ts';
import { GRPC_FILE, type StorePlace } from './store-place.ts';

const place = JSON.parse(process.argv[2] ?? '') as StorePlace;
const disk = place.syncMs === undefined ? undefined : new ModelDisk(place.syncMs, systemClock);

if (place.kind === 'sidecar') {
	const files = disk === undefined ? new NodeFiles() : modelFiles(disk);
	await serveSidecarStore(join(place.directory, 'store'), files, place.port);
} else {
	await serveGrpcStore(disk === undefined ? await ownDisk(place.directory) : () => disk.sync(), place.port);
}
process.stdout.write('ready\n');
process.stdin.resume().on('end', () => process.exit(0));

/** The disk of this machine: one write and one sync for each group, one after the other, as one file has it. */
async function ownDisk(directory: string): Promise<Persist> {
	const file = await open(join(directory, GRPC_FILE), 'a');
	let last: Promise<unknown> = Promise.resolve();
	return (messages) => {
		const written = last.then(async () => {
			await file.writev(messages.map(({ plain = Buffer.alloc(0) }) => plain));
			await file.datasync();
		});
		last = written;
		return written;
	};
}
