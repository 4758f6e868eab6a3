// A NestJS app with what is built of the package: two clients, a health check, a registration. Driven over HTTP and by signals.
//   node [--import ./nest-11/use.mjs] nest-app.mjs
import { createInterface, once } from 'node:readline';

import { Controller, Get, Inject, Module, VERSION } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { Diplomat } from '@spock/client';
import { AppRegistration, InjectDiplomat, SpockHealthIndicator, SpockModule } from '@spock/nestjs';
