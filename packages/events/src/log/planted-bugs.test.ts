import type { SimFiles } from '@spock/testkit/sim-files';
import { describe, expect, it } from 'vitest';
import { type LosePowerOptions, losePowerOften } from '../../test/lose-power.ts';
import type { Files, WritableFile } from '../foundation/files.ts';

/** Each stands between the log and its disk, or is an option: a power loss must find it. */
const BUGS: Readonly<Record<string, Pick<LosePowerOptions, 'plant' | 'bug'>>> = {
	'an acknowledgement in front of the sync': {
		plant: (files) => withSync(files, async (file) => void file.sync().catch(() => undefined)),
	},
	'an acknowledgement in front of the end of the write': {
		plant: (files) =>
			withFile(files, (file) => ({
				...file,
				write: async (...args) => void file.write(...args).catch(() => undefined),
			})),
	},
	'a sync that is tried again on the same file': {
		plant: (files) => withSync(files, (file) => file.sync().catch(() => file.sync())),
	},
	'a new file whose name is not durable': {
		plant: (files) => withMethod(files, 'syncDirectory', async () => undefined),
	},
	'a summary in front of the sync of what it sums up': { plant: withLateSync },
	'a torn tail that is kept': { bug: { keepsTornTail: true } },
};

function withSync(files: SimFiles, sync: (file: WritableFile) => Promise<void>): Files {
	return withFile(files, (file) => ({ ...file, sync: () => sync(file) }));
}

function withFile(files: SimFiles, change: (file: WritableFile) => WritableFile): Files {
	return withMethod(files, 'create', async (path: string) => change(await files.create(path)));
}

/** What a file holds is synced after the first sync of the file behind it. */
function withLateSync(files: SimFiles): Files {
	let owed: () => Promise<void> = async () => undefined;
	return withMethod(files, 'create', async (path: string) => {
		const file = await files.create(path);
		const before = owed;
		let isFirst = true;
		const sync = async (): Promise<void> => {
			owed = () => file.sync();
			if (!isFirst) return;
			isFirst = false;
			await file.sync();
			await before();
		};
		return { ...file, sync };
	});
}

function withMethod<Name extends keyof Files>(files: SimFiles, name: Name, method: Files[Name]): Files {
	return new Proxy(files, {
		get: (target, key) => {
			if (key === name) return method;
			const value = Reflect.get(target, key, target) as unknown;
			return typeof value === 'function' ? (value.bind(target) as unknown) : value;
		},
	});
}

const SEEDS_MAX = 40;

describe('a loss of power finds', () => {
	it.each(Object.entries(BUGS))('%s', async (_, bug) => {
		const errors: string[] = [];
		for (let seed = 1; seed <= SEEDS_MAX && errors.length === 0; seed++) {
			await losePowerOften({ seed, imagesPerOperation: 3, ...bug }).catch((error: Error) => errors.push(error.message));
		}
		expect(errors).toHaveLength(1);
	});
});
