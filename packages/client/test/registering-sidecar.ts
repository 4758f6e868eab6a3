import type { RegisterServiceData, RegistrationReply } from '@spock/protocol';
import type { FakeAnswer, RecordedRequest } from '@spock/testkit';

/** What the tests register. */
export const barista: RegisterServiceData = { service: 'barista', port: 8765 };

/** What a registry that knows it says. */
export function reply(members: Partial<RegistrationReply> = {}): RegistrationReply {
	return { id: 'b1', service: 'barista', instance: 'test/b1', state: 'registered', error: null, ...members };
}

/** A sidecar that can register. */
export function registering({ func }: RecordedRequest): FakeAnswer | undefined {
	if (func === 'registerService' || func === 'reportService') return { data: reply() };
	return func === 'deregisterService' ? { data: null } : undefined;
}
