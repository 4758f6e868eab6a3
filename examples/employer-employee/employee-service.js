import { fileURLToPath } from 'node:url';

import { loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** The client class of employee.proto, with its service definition. */
export const { Employee } = loadPackageDefinition(loadSync(fileURLToPath(new URL('employee.proto', import.meta.url))))
	.staff.v1;
