import type { Files, WritableFile } from '@spock/events';

/** A disk on which a sync is said to be done, and is not. */
export function neverSyncs(files: Files): Files {
	return withSync(files, () => Promise.resolve());
}

/** A write is said to be done while it goes on. */
export function neverWaits(files: Files): Files {
	return withFile(files, (file) => ({
		...file,
		write: (chunks, offset) => {
			file.write(chunks, offset).catch(() => undefined);
			return Promise.resolve();
		},
	}));
}

/** A sync that fails is tried again on the same file. */
export function syncsAgain(files: Files): Files {
	return withSync(files, (file) => file.sync().catch(() => file.sync()));
}

/** A disk on which names of new files are not made durable. */
export function forgetsNames(files: Files): Files {
	return { ...boundTo(files), syncDirectory: () => Promise.resolve() };
}

function withSync(files: Files, sync: (file: WritableFile) => Promise<void>): Files {
	return withFile(files, (file) => ({ ...file, sync: () => sync(file) }));
}

function withFile(files: Files, change: (file: WritableFile) => WritableFile): Files {
	return { ...boundTo(files), create: async (path) => change(await files.create(path)) };
}

function boundTo(files: Files): Files {
	return {
		list: (directory) => files.list(directory),
		open: (path) => files.open(path),
		reopen: (path) => files.reopen(path),
		create: (path) => files.create(path),
		rename: (from, to) => files.rename(from, to),
		remove: (path) => files.remove(path),
		syncDirectory: (directory) => files.syncDirectory(directory),
		space: (directory) => files.space(directory),
	};
}
