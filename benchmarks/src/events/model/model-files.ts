import { type Files, NodeFiles, type ReadableFile, type WritableFile } from '@spock/events';

import type { ModelDisk } from './model-disk.ts';

/** Files whose syncs take the time of a modelled disk. Where they are kept should be memory: its own time is added. */
export function modelFiles(disk: ModelDisk): Files {
	const files = new NodeFiles();
	const slow = (file: WritableFile): WritableFile => ({
		bytes: file.bytes,
		read: (offset, length) => file.read(offset, length),
		write: (chunks, offset) => file.write(chunks, offset),
		sync: async () => {
			await file.sync();
			await disk.sync();
		},
		close: () => file.close(),
	});
	return {
		list: (directory) => files.list(directory),
		open: (path): Promise<ReadableFile> => files.open(path),
		reopen: async (path) => slow(await files.reopen(path)),
		create: async (path) => slow(await files.create(path)),
		rename: (from, to) => files.rename(from, to),
		remove: (path) => files.remove(path),
		syncDirectory: (directory) => files.syncDirectory(directory),
		space: (directory) => files.space(directory),
	};
}
