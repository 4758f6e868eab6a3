import { describe, expect, it } from 'vitest';

import { authorityOf, type TargetParts, TargetReader } from './parse-target.ts';

/** As grpc-js takes targets apart. */
function target(text: string): TargetParts {
	const [, scheme = '', authority, path = ''] = /^([a-z]+):(?:\/\/([^/]*)\/)?(.+)$/.exec(text) ?? [];
	return { scheme, path, ...(authority !== undefined && { authority }) };
}

describe('targets', () => {
	it.each([
		['spock:///employee', { service: 'employee' }],
		['spock:employee', { service: 'employee' }],
		['spock://employee', { service: 'employee' }],
		['spock:///employee.spock', { service: 'employee' }],
		['spock:///employee.Spock', { service: 'employee' }],
		['spock:///employee?tag=v2&tag=eu&datacenter=dc1', { service: 'employee', tags: ['eu', 'v2'], datacenter: 'dc1' }],
		['spock:///employee?peer=cluster-02', { service: 'employee', peer: 'cluster-02' }],
	])('%s', (text, query) => {
		expect(new TargetReader().query(target(text))).toEqual(query);
		expect(authorityOf(target(text))).toMatch(/^employee(\.spock)?$/i);
	});

	it('what the options say holds where the target says nothing', () => {
		const reader = new TargetReader({
			suffix: '.internal',
			query: { datacenter: 'dc1', tags: ['v1'] },
			services: { staff: { service: 'Employee' } },
		});
		expect(reader.query(target('spock:///staff.internal'))).toEqual({
			service: 'Employee',
			datacenter: 'dc1',
			tags: ['v1'],
		});
		expect(reader.query(target('spock:///staff?tag=v2'))).toMatchObject({ datacenter: 'dc1', tags: ['v2'] });
	});

	it.each([
		['spock://dc1/employee', 'three slashes'],
		['spock:///a/b', 'a name must consist of letters'],
		['spock:///employee%20of', 'a name must consist of letters'],
		['spock:///?tag=v1', 'a name must consist of letters'],
		['spock:///employee:50051', 'leave out the port'],
		['spock:///a.b', 'one label before .spock'],
		['spock:///employee?colour=red', 'unknown parameter "colour"; expected one of: tag, datacenter, peer'],
		['spock:///employee?__proto__=red', 'unknown parameter "__proto__"'],
		['spock:///employee?tag=', 'tag must not be empty'],
	])('%s throws BAD_REQUEST', (text, reason) => {
		expect(() => new TargetReader().query(target(text))).toThrow(
			expect.objectContaining({ code: 'BAD_REQUEST', message: expect.stringContaining(reason) }),
		);
	});
});
