# Runs the R package dppca on chosen rows of its own data `gau`, for the .py beside it.
#
#   Rscript bench_dppca_package.R FOLDER
#
# FOLDER holds tasks.csv (what, run, epsilon, delta), rows.csv (a line a run, counted from 1) and
# told.csv (a line a run: what scree estimators are told). Answers go to answers.csv, a line a number.

folder <- commandArgs(trailingOnly = TRUE)[1]
library(dppca)

read <- function(name, ...) utils::read.csv(file.path(folder, name), ...)
data(gau, package = "dppca")
gau <- as.matrix(gau)
utils::write.table(gau, file.path(folder, "gau.csv"), sep = ",", row.names = FALSE, col.names = FALSE)
if (!file.exists(file.path(folder, "tasks.csv"))) quit()
tasks <- read("tasks.csv")
rows <- as.matrix(read("rows.csv", header = FALSE))
told <- as.matrix(read("told.csv", header = FALSE))

directions <- function(X, epsilon, delta, told) {
  as.vector(dp_pc_dir(X, k = 2, g_dppca = TRUE, eps = epsilon, delta = delta))
}

scree <- function(method) {
  function(X, epsilon, delta, told) {
    control <- switch(
      method,
      clipped = clipped_control(C_clip = told[1]),
      pmwm = pmwm_control(a = 0, b = told[2], trim_const = 10, eta = 0.01),
      huber = huber_control(k_min_m2 = -10, k_max_m2 = 10, m2_frac = 1 / 4)
    )
    found <- dp_scree(
      X, k = 2, method = method, control = control, eps = epsilon, delta = delta, g_dppca = TRUE
    )
    found[[method]]$scree[1]
  }
}

# Half of the summed differences of two histograms that sum to 1.
scores <- function(method) {
  function(X, epsilon, delta, told) {
    found <- dp_score(
      X, eps = epsilon, delta = delta, bins = c(15, 15), method = method, g_dppca = TRUE
    )
    private <- pmax(found[[method]]$prob, 0)
    sum(abs(private / max(sum(private), 1e-300) - found$nonprivate$prob)) / 2
  }
}

ways <- list(
  directions = directions,
  clipped = scree("clipped"), pmwm = scree("pmwm"), huber = scree("huber"),
  add = scores("add"), sparse = scores("sparse")
)
answers <- list()
for (i in seq_len(nrow(tasks))) {
  task <- tasks[i, ]
  set.seed(task$run + 1)
  X <- gau[rows[task$run + 1, ], ]
  start <- proc.time()[["elapsed"]]
  values <- tryCatch(
    ways[[task$what]](X, task$epsilon, task$delta, told[task$run + 1, ]),
    error = function(error) NA
  )
  seconds <- proc.time()[["elapsed"]] - start
  answers[[i]] <- data.frame(task = i - 1, seconds = seconds, value = values)
}
utils::write.csv(do.call(rbind, answers), file.path(folder, "answers.csv"), row.names = FALSE)
