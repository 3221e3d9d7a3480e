// @ts-check
import { testInSession } from "./sessions.mjs";

testInSession("bash");
