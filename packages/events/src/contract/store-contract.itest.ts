import { join } from 'node:path';

import { tempSocket } from '@spock/testkit';
import { describe, it } from 'vitest';

import { embeddedFixture, type LogPlace } from '../../test/embedded-fixture.ts';
import { SMALL_LIMITS } from '../../test/open-sim-log.ts';
import { NodeFiles } from '../disk/node-files.ts';
import { NodeOwner } from '../disk/node-owner.ts';
import { EventLog } from '../log/event-log.ts';
import { storeContract } from './index.ts';

/** Logs in one directory of a real disk. */
async function realPlace(): Promise<LogPlace> {
	const temp = await tempSocket();
	const directory = join(temp.directory, 'log');
	return {
		make: (options) =>
			new EventLog({
				...options,
				directory,
				files: new NodeFiles(),
				owner: new NodeOwner(directory),
				limits: SMALL_LIMITS,
			}),
		end: async (log) => {
			await log.close(60_000);
		},
		close: async () => temp[Symbol.asyncDispose](),
	};
}

describe('the embedded store keeps the contract of an EventStore on a real disk', () => {
	for (const { name, run } of storeContract(async () => embeddedFixture(await realPlace()))) it(name, run);
});
