#pragma once

/// The verbs of `interlacer`; each is implemented in the file of its name, the experiments in files
/// of theirs.

#include "cli/verb.h"

namespace interlacer::cli {

void AddSimulate(CLI::App* app, VerbTable* verbs);
void AddImport(CLI::App* app, VerbTable* verbs);
void AddValidate(CLI::App* app, VerbTable* verbs);
void AddTrain(CLI::App* app, VerbTable* verbs);
void AddExport(CLI::App* app, VerbTable* verbs);
void AddPredict(CLI::App* app, VerbTable* verbs);
void AddPlan(CLI::App* app, VerbTable* verbs);
void AddEvaluate(CLI::App* app, VerbTable* verbs);
void AddExperiment(CLI::App* app, VerbTable* verbs);
void AddClosedLoopExperiment(CLI::App* experiment, VerbTable* verbs);
void AddMasksExperiment(CLI::App* experiment, VerbTable* verbs);
void AddMotifsExperiment(CLI::App* experiment, VerbTable* verbs);
void AddPlannerExperiment(CLI::App* experiment, VerbTable* verbs);
void AddCompare(CLI::App* app, VerbTable* verbs);
void AddReport(CLI::App* app, VerbTable* verbs);
void AddReplay(CLI::App* app, VerbTable* verbs);
void AddRobot(CLI::App* app, VerbTable* verbs);
void AddAttention(CLI::App* app, VerbTable* verbs);
void AddBench(CLI::App* app, VerbTable* verbs);
void AddProbe(CLI::App* app, VerbTable* verbs);
void AddInfo(CLI::App* app, VerbTable* verbs);
void AddVersion(CLI::App* app, VerbTable* verbs);

}  // namespace interlacer::cli
