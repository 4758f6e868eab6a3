import { findNats, findOldNats } from '@spock/testkit/real-nats';
import { describe, it } from 'vitest';

import { jetStreamFixture } from '../../../test/jetstream-fixture.ts';
import { storeContract } from '../../contract/index.ts';

describe('the store at JetStream keeps the contract of an EventStore', () => {
	describe('with fast ingest', () => {
		for (const { name, run } of storeContract(() => jetStreamFixture(findNats(process.env)))) it(name, run);
	});
	describe('on an old server', () => {
		for (const { name, run } of storeContract(() => jetStreamFixture(findOldNats(process.env)))) it(name, run);
	});
});
